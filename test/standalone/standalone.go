// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/cmd/kubizone/up"
	"kubi.zone/kubizone/pkg/bind9/signing"
	"kubi.zone/kubizone/test/must"
)

type Server struct {
	versioned.Interface
	Kubeconfig string
	Out        *must.Output
	Stop       func()
}

// Start runs a server with the usual options, modified by change, until the test ends.
func Start(t testing.TB, change ...func(*up.Options)) *Server {
	t.Helper()
	return StartWith(t, signing.LookupParentServers(net.DefaultResolver), change...)
}

// StartWith finds the name servers of signed zones' parents otherwise.
func StartWith(t testing.TB, parents signing.ParentServers, change ...func(*up.Options)) *Server {
	t.Helper()
	options := up.NewOptions()
	options.DataDir, options.Listen, options.DNSListen = filepath.Join(t.TempDir(), "data"), "127.0.0.1:0", "127.0.0.1:0"
	for _, f := range change {
		f(options)
	}
	out := &must.Output{}
	config := must.Get(options.Complete(out))(t)
	config.ParentServers = parents
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- config.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil || t.Failed() {
			t.Errorf("the server: %v\n%s", err, out)
		}
	})
	t.Cleanup(stop)
	must.Eventually(t, "the server is ready", func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the server ended before it was ready: %v\n%s", err, out)
		default:
		}
		return strings.Contains("\n"+out.String(), "\nready")
	})
	s := &Server{Kubeconfig: filepath.Join(options.DataDir, "kubeconfig"), Out: out, Stop: stop}
	client := must.Get(clientcmd.BuildConfigFromFlags("", s.Kubeconfig))(t)
	client.QPS = -1
	s.Interface = must.Get(versioned.NewForConfig(client))(t)
	return s
}

// DataDir keeps the data of a server in dir, where another can start after it.
func DataDir(dir string) func(*up.Options) { return func(o *up.Options) { o.DataDir = dir } }
