package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	syncLimit  = 5 * time.Minute
	settleTime = time.Second
	// Without an update for this long, those that are missing will not come.
	silenceLimit = 10 * time.Second
)

func follow(arguments []string) error {
	flags := flag.NewFlagSet("follow", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "how to reach the API server")
	content := flags.String("content", "json", "json or protobuf")
	updates := flags.Int64("updates", 0, "how many to wait for")
	_ = flags.Parse(arguments)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client, err := connect(*kubeconfig, *content)
	if err != nil {
		return err
	}
	var seen atomic.Int64
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().Pods().Informer()
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) {},
		UpdateFunc: func(_, _ any) { seen.Add(1) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	limited, stop := context.WithTimeout(ctx, syncLimit)
	defer stop()
	if !cache.WaitForCacheSync(limited.Done(), handler.HasSynced) {
		return errors.New("the informer did not sync")
	}
	line := report{"objects": len(informer.GetStore().ListKeys()), "cpu": cpuTime().Seconds()}
	time.Sleep(settleTime)
	line["resident"] = memory("VmRSS")
	line["peak"] = memory("VmHWM")
	if *updates == 0 {
		// What it could do with at least: garbage collected and all free memory given back.
		debug.FreeOSMemory()
		line["resident_after_gc"] = memory("VmRSS")
	}
	line.print()
	if *updates > 0 {
		countUpdates(informer.GetStore(), &seen, *updates).print()
	}
	return nil
}

func connect(kubeconfig, content string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	switch content {
	case "json":
		config.ContentType = "application/json"
	case "protobuf": // As controller-runtime asks for kinds that have it.
		config.ContentType = "application/vnd.kubernetes.protobuf"
		config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	default:
		return nil, fmt.Errorf("-content is json or protobuf, not %q", content)
	}
	return kubernetes.NewForConfig(config)
}

func countUpdates(store cache.Store, seen *atomic.Int64, updates int64) report {
	before := cpuTime()
	last, changed := seen.Load(), time.Now()
	for last < updates && time.Since(changed) < silenceLimit {
		time.Sleep(20 * time.Millisecond)
		if now := seen.Load(); now != last {
			last, changed = now, time.Now()
		}
	}
	line := report{"updates": last, "cpu": (cpuTime() - before).Seconds()}
	var sum int64
	for _, object := range store.List() {
		update, _ := strconv.ParseInt(object.(*corev1.Pod).Annotations[updateAnnotation], 10, 64)
		sum += update
	}
	line["sum"] = sum
	line["resident"] = memory("VmRSS")
	return line
}
