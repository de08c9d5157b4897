// The one program in the local cluster's own small image: what a pod's sandbox runs, and what the
// tests need inside pods. Static, so the image holds nothing else. Development only.
//
//	pod pause           sleeps until it is told to end, and reaps: the sandbox of every pod
//	pod serve ADDRESS   answers every request with this host's name and the caller's address
//	pod get URL         prints what the URL answers
//	pod resolve NAME    prints the addresses of a name, one a line
//	pod write FILE TEXT, pod read FILE
//	pod webhook ADDRESS CERTIFICATE KEY   an admission webhook that refuses everything
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const patience = 5 * time.Second

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pod:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "pause":
		return pause()
	case len(args) == 2 && args[0] == "serve":
		return serve(args[1])
	case len(args) == 2 && args[0] == "get":
		return get(args[1])
	case len(args) == 2 && args[0] == "resolve":
		return resolve(args[1])
	case len(args) == 4 && args[0] == "webhook":
		return webhook(args[1], args[2], args[3])
	case len(args) == 3 && args[0] == "write":
		return os.WriteFile(args[1], []byte(args[2]), 0o644)
	case len(args) == 2 && args[0] == "read":
		text, err := os.ReadFile(args[1])
		fmt.Print(string(text))
		return err
	}
	return fmt.Errorf("do not know what to do with %q", strings.Join(args, " "))
}

// With a shared pid namespace this is PID 1 of the pod and inherits every orphan.
func pause() error {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return nil
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
	return nil
}

func serve(address string) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	fmt.Println("serving on", address)
	return http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, _, _ := net.SplitHostPort(r.RemoteAddr)
		fmt.Println(r.Method, r.URL, "from", caller)
		fmt.Fprintln(w, host, caller)
	}))
}

func webhook(address, certificate, key string) error {
	refuse := func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			APIVersion string         `json:"apiVersion"`
			Kind       string         `json:"kind"`
			Request    map[string]any `json:"request,omitempty"`
			Response   map[string]any `json:"response,omitempty"`
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		status := map[string]any{"message": "refused by a webhook in a pod"}
		review.Response = map[string]any{"uid": review.Request["uid"], "allowed": false, "status": status}
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(review)
	}
	return http.ListenAndServeTLS(address, certificate, key, http.HandlerFunc(refuse))
}

func get(url string) error {
	answer, err := (&http.Client{Timeout: patience}).Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(os.Stdout, answer.Body)
	return err
}

func resolve(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(ctx, name)
	for _, address := range addresses {
		fmt.Println(address)
	}
	return err
}
