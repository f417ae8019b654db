// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/cmd/kubizone/process"
	"kubi.zone/kubizone/cmd/kubizone/tracing"
	"kubi.zone/kubizone/test/must"
)

// P1, P4
func TestParseBeside_refusesWhatWouldRunOtherwise(t *testing.T) {
	kubeconfig := newKube(t).writeKubeconfig(t)
	missing := filepath.Join(t.TempDir(), "missing")
	for arguments, want := range map[string]string{
		"controller --as=c --kubeconfig=KUBE":                                              "",
		"controller --as=c --kubeconfig=KUBE -- primary --as=p --kubeconfig=KUBE":          "",
		"primary --as=p --kubeconfig=KUBE --tsig-key-file=" + missing:                      "", // made later
		"controller --kubeconfig=KUBE":                                                     "-- controller: --as is missing",
		"controller --as=c --kubeconfig=KUBE --lease=x":                                    `-- controller: --lease "x"`,
		"primary --as=p --kubeconfig=KUBE --dns-listen=x -- controller --as=c --lease=x":   `-- primary: --dns-listen "x"`,
		"primary --as=p --kubeconfig=KUBE -- controller --as=c --kubeconfig=KUBE --lase=x": "-- controller: unknown flag: --lase",
		"controller --as=c --kubeconfig=KUBE -- controller --as=c --kubeconfig=KUBE":       "-- controller: named twice",
		"fleet --as=f":                           "-- fleet: is no sub-command that runs beside",
		"controller --as=c --kubeconfig=KUBE up": `-- controller: takes flags only, and "up"`,
		"-- controller --as=c":                   "-- : name controller or primary",
	} {
		_, err := parseSubcommands(strings.Fields(strings.ReplaceAll(arguments, "KUBE", kubeconfig)), io.Discard, tracing.Options{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arguments, err, want)
		}
	}
}

// `kubizone apiserver … -- controller …` runs further sub-commands in the server's process. Each has the rights of its
// own user only, starts again after an error, and can still use the API while it ends (P4).
func TestBeside_actsAsItsUserUntilItsEnd(t *testing.T) {
	k := newKube(t)
	reports := make(chan string, 10)
	list := func(server *process.Server) error {
		client, err := versioned.NewForConfig(server.API)
		if err != nil {
			return err
		}
		_, err = client.KubizoneV1alpha1().Zones("").List(context.Background(), metav1.ListOptions{})
		return err
	}
	starts := 0
	r := startServerWith(t, k, []subcommand{{"one", "alice", func(ctx context.Context, server *process.Server) error {
		if starts++; starts == 1 {
			return errors.New("first start")
		}
		reports <- fmt.Sprintf("alice lists: %v", list(server))
		<-ctx.Done()
		reports <- fmt.Sprintf("alice lists at the end: %v", list(server))
		return nil
	}},
		{"two", "bob", func(ctx context.Context, server *process.Server) error {
			reports <- fmt.Sprintf("bob is refused: %v", apierrors.IsForbidden(list(server)))
			<-ctx.Done()
			return nil
		}}})
	got := map[string]bool{<-reports: true, <-reports: true}
	must.Succeed(t, r.stop())
	got[<-reports] = true
	for _, want := range []string{"alice lists: <nil>", "bob is refused: true", "alice lists at the end: <nil>"} {
		if !got[want] {
			t.Errorf("%q is missing in %v", want, got)
		}
	}
}

// If a sub-command ends while its work still runs, starting it again would do the work twice at the same time. So the
// whole server ends instead (P4).
func TestBeside_endsTheServerRatherThanWorkTwice(t *testing.T) {
	starts := 0
	r := startServerWith(t, newKube(t), []subcommand{{"one", "alice", func(context.Context, *process.Server) error {
		starts++
		return process.ErrUnfinished
	}}})
	must.Eventually(t, "the server has ended", func() bool {
		connection, err := net.Dial("tcp", strings.TrimPrefix(r.url, "https://"))
		if err == nil {
			connection.Close()
		}
		return err != nil
	})
	if err := r.stop(); !errors.Is(err, process.ErrUnfinished) || starts != 1 {
		t.Errorf("after %d starts, the server ends with %v", starts, err)
	}
}
