// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"
)

// keepMember keeps the etcd member running, because other servers may need its vote for a quorum. All requests are
// refused, because this program cannot read the format of the store, for example after the upgrade of another server.
func (o *Options) keepMember(ctx context.Context, reason error) error {
	klog.Errorf("This server answers no requests any more: %v. Its member of etcd, %s, runs on until another version replaces this program",
		reason, o.Member.Cluster.MemberName)
	// Serve the refusals at the same address.
	if listener := o.SecureServing.Listener; listener != nil {
		if address, ok := listener.Addr().(*net.TCPAddr); ok {
			o.SecureServing.BindPort = address.Port
		}
		listener.Close() // closed already if the API server ran
		o.SecureServing.Listener = nil
	}
	if err := o.bindPort(); err != nil {
		return errors.Join(reason, err)
	}
	var serving *genericapiserver.SecureServingInfo
	if err := o.SecureServing.ApplyTo(&serving); err != nil {
		return errors.Join(reason, fmt.Errorf("serving: %w", err))
	}
	ended, _, err := serving.Serve(refuseAll(reason), time.Second, ctx.Done())
	if err != nil {
		return errors.Join(reason, fmt.Errorf("serving: %w", err))
	}
	<-ended
	return nil
}

// refuseAll returns a handler that answers as alive and not ready, and refuses all other requests with Retry-After. A
// liveness probe must not end the member.
func refuseAll(reason error) http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/livez", "/healthz"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	}
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, fmt.Sprintf("[-]format failed: %v\nreadyz check failed", reason), http.StatusServiceUnavailable)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "this server does not read the format of the store and answers no requests: try again, and another server answers",
			http.StatusServiceUnavailable)
	})
	return mux
}
