// Helm, built from its own public command package so that the local cluster needs no download of a
// finished binary. Development only; nothing of it ships in the product.
package main

import (
	"errors"
	"log/slog"
	"os"

	helm "helm.sh/helm/v4/pkg/cmd"
	"helm.sh/helm/v4/pkg/kube"
)

func main() {
	kube.ManagedFieldsManager = "helm"
	command, err := helm.NewRootCmd(os.Stdout, os.Args[1:], helm.SetupLogging)
	if err != nil {
		slog.Error("helm did not start", slog.Any("error", err))
		os.Exit(1)
	}
	if err := command.Execute(); err != nil {
		var failure helm.CommandError
		if errors.As(err, &failure) {
			os.Exit(failure.ExitCode)
		}
		os.Exit(1)
	}
}
