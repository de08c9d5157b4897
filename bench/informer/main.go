// The peer of bench/kube_compare: a client-go shared informer for pods, and an API server that can
// send more changes a second than a real one on a small machine.
//
//	informer follow -kubeconfig FILE -content json|protobuf [-updates N]
//	    fills a store with all pods, then counts N updates; prints one line of JSON for each
//	informer serve -kubeconfig FILE -rate R -seconds S < LIST
//	    serves the pods of LIST and, to each watch, R updates a second; writes FILE for its clients,
//	    prints what it will send, and runs until killed
//
// bench/kube_client.cc prints the same lines for our client.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// What each update of a pod changes.
const updateAnnotation = "bench.mainspring.dev/update"

func main() {
	verbs := map[string]func([]string) error{"follow": follow, "serve": serve}
	if len(os.Args) < 2 || verbs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: informer follow|serve FLAGS")
		os.Exit(2)
	}
	if err := verbs[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "informer:", err)
		os.Exit(1)
	}
}

// One line of output.
type report map[string]any

func (r report) print() { _ = json.NewEncoder(os.Stdout).Encode(r) }

func cpuTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// A line of /proc/self/status in bytes.
func memory(name string) int64 {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		if rest, found := strings.CutPrefix(line, name+":"); found {
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10
		}
	}
	return 0
}
