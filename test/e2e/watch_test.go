// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/test/must"
)

// followChanges opens changes?watch=true of dns/org and returns a function that reads the next line.
func followChanges(t *testing.T, client rest.Interface) (line func() (string, error)) {
	t.Helper()
	stream := must.Get(client.Get().Namespace("dns").Resource("zones").Name("org").SubResource("changes").Param("watch", "true").Stream(
		t.Context()))(t)
	t.Cleanup(func() { stream.Close() })
	lines := bufio.NewReader(stream)
	return func() (string, error) {
		text, err := lines.ReadString('\n')
		return strings.TrimSuffix(text, "\n"), err
	}
}

// A client watches zones/changes over HTTP/2, as kubectl does. Each change arrives in an event of its own. When the
// server stops, the stream ends without delaying the stop.
func TestChanges_areWatched(t *testing.T) {
	r := runUp(t, t.TempDir())
	r.makeZone("org", "example.org.")
	line := followChanges(t, r.client.KubizoneV1alpha1().RESTClient())
	for _, address := range []string{"192.0.2.2", "192.0.2.3"} {
		r.makeRecord("n"+strings.ReplaceAll(address, ".", "-"), "new.example.org.", address)
		if event, err := line(); err != nil || !strings.Contains(event, `"added":[{"fqdn":"new.example.org."`) ||
			!strings.Contains(event, address) {
			t.Fatalf("%q, %v", event, err)
		}
	}

	// A user who may not get zones/changes is refused before any stream begins.
	stranger := rest.CopyConfig(r.config)
	stranger.Impersonate.UserName = "jane"
	jane := must.Get(versioned.NewForConfig(stranger))(t)
	if _, err := jane.KubizoneV1alpha1().RESTClient().Get().Namespace("dns").Resource("zones").Name("org").SubResource("changes").Param("watch", "true").Stream(t.Context()); err == nil || !strings.Contains(err.Error(), `"jane"`) {
		t.Errorf("a stranger: %v", err)
	}

	began := time.Now()
	if err := r.stopProcess(); err != nil {
		t.Error(err)
	}
	if rest, err := line(); !errors.Is(err, io.EOF) || rest != "" {
		t.Errorf("the end of a server that stops is %q, %v", rest, err)
	}
	t.Logf("stopped within %s", time.Since(began))
}
