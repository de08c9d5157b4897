// The DRA driver of kubernetes-sigs/dra-driver-cpu, with a device for each CPU of the node.
//
// Started inside a node, beside its kubelet and containerd, with the kubelet's own credentials: it
// publishes the CPUs as ResourceSlices, and gives containers the CPUs that their ResourceClaims name
// and no others. What serves metrics and reads configuration stays out of the build. Development
// only; nothing of it ships in the product.
package main

import (
	"context"
	"flag"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/kubernetes-sigs/dra-driver-cpu/pkg/driver"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

func run(ctx context.Context, kubeconfig, node string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	plugin, failed, err := driver.Start(ctx, client, &driver.Config{
		DriverName:    "dra.cpu",
		NodeName:      node,
		CPUDeviceMode: driver.CPU_DEVICE_MODE_INDIVIDUAL,
	})
	if err != nil {
		return err
	}
	defer plugin.Stop()
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

func main() {
	klog.InitFlags(nil)
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server, and as whom")
	node := flag.String("node", "", "the node's name in Kubernetes")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(logr.NewContext(ctx, klog.Background()), *kubeconfig, *node); err != nil {
		klog.Exit(err)
	}
}
