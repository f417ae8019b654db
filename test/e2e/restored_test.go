// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// S6.9: a backup is restored twice, and both stores are written to. An informer and a BIND running throughout have
// exactly the second store's content: no resourceVersion and no serial is used twice.
func TestRestore_ofOneBackupTwice(t *testing.T) {
	needPrograms(t)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	var ports [2]netip.AddrPort
	for i := range ports {
		ports[i] = must.Get(rig.FreePort())(t)
	}
	bind := must.Get(rig.StartBIND(ctx, rig.BINDConfig{Secondaries: []rig.SecondaryZone{{Zone: "example.org.", Primary: ports[1]}}}))(t)
	defer bind.Close()
	serve := func(data string) *running {
		t.Helper()
		r := runUp(t, data, "--listen", ports[0].String(), "--dns-listen", ports[1].String(), "--transfer-to", bind.Addr.String())
		r.config.QPS = -1
		r.client = must.Get(versioned.NewForConfig(r.config))(t)
		return r
	}
	var written int
	write := func(r *running, what string, n int) {
		for range n {
			written++
			name := fmt.Sprintf("%s-%d", what, written)
			r.makeRecord(name, name+".example.org.", "192.0.2.7")
		}
	}
	dir := t.TempDir()
	backup := filepath.Join(dir, "backup")
	restore := func(to string) string { // adds the client credentials, which backups omit
		t.Helper()
		data := filepath.Join(dir, to)
		if out, err := exec.CommandContext(ctx, binaries.kubizone, "restore", backup, "--data-dir", data).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		must.Succeed(t, os.CopyFS(filepath.Join(data, "pki"), os.DirFS(filepath.Join(dir, "original", "pki"))))
		return data
	}
	end := func(r *running) {
		t.Helper()
		must.Succeed(t, r.stopProcess())
	}

	original := serve(filepath.Join(dir, "original"))
	original.makeZone("org", "example.org.")
	original.waitForZone("org", bind.Addr.String())
	if out, err := exec.CommandContext(ctx, binaries.kubizone, "backup", "--data-dir", original.dir, backup).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	end(original)

	first := serve(restore("first"))
	records := first.client.KubizoneV1alpha1().Records("dns")
	informer := kuberig.Inform(ctx, &cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return records.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return records.Watch(ctx, o) },
	}, &v1alpha1.Record{})
	write(first, "first", 60)
	had := first.waitForZone("org", bind.Addr.String())
	waitUntil(t, "the informer has the first restore", func() bool { return len(informer.Has()) == 61 })
	end(first)

	second := serve(restore("second"))
	written = 0
	for _, n := range []int{25, 45} {
		write(second, "second", n)
		zone := must.Get(second.client.KubizoneV1alpha1().Zones("dns").Get(ctx, "org", metav1.GetOptions{}))(t)
		serial := uint32(zone.Status.Serial)
		if int32(serial-had) <= 0 {
			t.Errorf("after %d writes the zone has serial %d; the first restore gave up to %d", written, serial, had)
		}
		within, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if err := bind.WaitSerial(within, "example.org.", serial); err != nil {
			t.Error(err)
		}
		want := must.Get(rig.Canonical(ctx, "example.org.", must.Get(second.readEntries("org"))(t)))(t)
		if got := must.Get(bind.Transfer(ctx, "example.org."))(t); !slices.Equal(got, want) {
			t.Errorf("at serial %d BIND serves\n%q\nnot\n%q", serial, got, want)
		}
		list := must.Get(records.List(ctx, metav1.ListOptions{}))(t)
		versions := map[string]string{}
		for _, r := range list.Items {
			versions[r.Namespace+"/"+r.Name] = r.ResourceVersion
		}
		for within.Err() == nil && !maps.Equal(informer.Has(), versions) {
			time.Sleep(20 * time.Millisecond)
		}
		if has := informer.Has(); !maps.Equal(has, versions) {
			t.Errorf("the informer has %d records:\n%v\nand a list %d:\n%v", len(has), has, len(versions), versions)
		}
	}
}
