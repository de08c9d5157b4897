module mainspring.dev/dev/pod

go 1.26.0
