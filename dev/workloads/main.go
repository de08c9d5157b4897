// The controllers of JobSet and LeaderWorkerSet, in one executable.
//
// The name it is started under decides which one it is: jobset or lws. Each serves its webhooks with
// the certificate NAME.crt and NAME.key of --certs, so that what makes certificates, serves metrics and
// reads configuration in either stays out of the build. Development only; nothing of it ships in
// the product.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	jobsetapi "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	jobset "sigs.k8s.io/jobset/pkg/controllers"
	jobsethooks "sigs.k8s.io/jobset/pkg/webhooks"
	lwsapi "sigs.k8s.io/lws/api/leaderworkerset/v1"
	lws "sigs.k8s.io/lws/pkg/controllers"
	lwshooks "sigs.k8s.io/lws/pkg/webhooks"
)

type part struct {
	add   func(*runtime.Scheme) error
	setup []func(context.Context, ctrl.Manager) error
}

var parts = map[string]part{
	"jobset": {jobsetapi.AddToScheme, []func(context.Context, ctrl.Manager) error{
		func(ctx context.Context, m ctrl.Manager) error {
			return jobset.SetupJobSetIndexes(ctx, m.GetFieldIndexer())
		},
		func(ctx context.Context, m ctrl.Manager) error {
			return jobset.SetupPodIndexes(ctx, m.GetFieldIndexer())
		},
		func(_ context.Context, m ctrl.Manager) error {
			events := m.GetEventRecorder("jobset")
			return jobset.NewJobSetReconciler(m.GetClient(), m.GetScheme(), events).SetupWithManager(m)
		},
		func(_ context.Context, m ctrl.Manager) error {
			events := m.GetEventRecorder("pod")
			return jobset.NewPodReconciler(m.GetClient(), m.GetScheme(), events).SetupWithManager(m)
		},
		func(_ context.Context, m ctrl.Manager) error { return jobsethooks.Setup(m) },
	}},
	"lws": {lwsapi.AddToScheme, []func(context.Context, ctrl.Manager) error{
		func(_ context.Context, m ctrl.Manager) error { return lws.SetupIndexes(m.GetFieldIndexer()) },
		func(_ context.Context, m ctrl.Manager) error {
			events := m.GetEventRecorder("leaderworkerset")
			return lws.NewLeaderWorkerSetReconciler(m.GetClient(), m.GetScheme(), events).SetupWithManager(m)
		},
		func(_ context.Context, m ctrl.Manager) error {
			events := m.GetEventRecorder("leaderworkerset")
			return lws.NewPodReconciler(m.GetClient(), m.GetScheme(), events, nil).SetupWithManager(m)
		},
		func(_ context.Context, m ctrl.Manager) error { return lwshooks.SetupLeaderWorkerSetWebhook(m) },
		func(_ context.Context, m ctrl.Manager) error { return lwshooks.NewPodWebhook(nil).Setup(m) },
	}},
}

func run(name string) error {
	one, known := parts[name]
	if !known {
		return fmt.Errorf("unknown; start this file by a link named jobset or lws")
	}
	host := flag.String("host", "", "the address at which webhooks are served")
	port := flag.Int("port", 9443, "the port at which webhooks are served")
	certs := flag.String("certs", "", "the folder with the certificate")
	flag.Parse()
	ctrl.SetLogger(klog.Background())

	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgo.AddToScheme, one.add} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: *host, Port: *port, CertDir: *certs, CertName: name + ".crt", KeyName: name + ".key",
		}),
	})
	if err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	for _, setup := range one.setup {
		if err := setup(ctx, manager); err != nil {
			return err
		}
	}
	return manager.Start(ctx)
}

func main() {
	name := filepath.Base(os.Args[0])
	if err := run(name); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
