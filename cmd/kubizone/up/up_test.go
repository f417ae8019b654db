// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package up_test

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubizone/up"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/standalone"
)

func load(files ...string) func(*up.Options) { return func(o *up.Options) { o.Load = files } }

// If one of the files for --load is invalid, or a zone has no name servers, the start reports it and serves the other
// zones (U3).
func TestRun_servesTheRestWhereAFileCannotBeLoaded(t *testing.T) {
	dir := t.TempDir()
	readme := must.WriteFile(t, filepath.Join(dir, "README"), "This is no zone file.\n")
	bare := must.WriteFile(t, filepath.Join(dir, "example.net.zone"), "$TTL 60\n@ SOA ns h 1 1800 900 604800 300\n")
	good := must.WriteFile(t, filepath.Join(dir, "db.example.org"), "$TTL 60\n@ SOA ns h 1 1800 900 604800 300\n@ NS ns\nns A 192.0.2.1\n")
	at := must.Get(rig.FreePort())(t).String()
	s := standalone.Start(t, load(readme, bare, good), func(o *up.Options) { o.DNSListen = at })
	answer := must.Get(mdns.Exchange(new(mdns.Msg).SetQuestion("example.org.", mdns.TypeSOA), at))(t)
	if len(answer.Answer) == 0 {
		t.Errorf("the SOA of the good zone: %s", mdns.RcodeToString[answer.Rcode])
	}
	must.Say(t, s.Out, "not loaded: "+readme+": no SOA", "zone example.net. (default/example.net) is not servable: NoNameServers: ",
		"warning: not everything is served as --load says it: 1 source incomplete, 1 zone not servable")
}

// `kubizone up --load` writes zone files into the store at each start. A Record of an earlier start that no file has
// any more stays, and the start reports it. It also reports a zone that is in two files, whose records are merged.
func TestRun_saysWhatTheFilesNoLongerHave(t *testing.T) {
	dir := t.TempDir()
	const zone = "$TTL 60\n@ SOA ns h 1 1800 900 604800 300\n@ NS ns\nns A 192.0.2.1\n"
	file := must.WriteFile(t, filepath.Join(dir, "db.example.org"), zone+"old A 192.0.2.2\n")
	data := standalone.DataDir(filepath.Join(dir, "data"))
	first := standalone.Start(t, data, load(file))
	if strings.Contains(first.Out.String(), "an earlier run made") {
		t.Errorf("the first start says\n%s", first.Out)
	}
	first.Stop()
	must.WriteFile(t, file, zone)
	part := must.WriteFile(t, filepath.Join(t.TempDir(), "db.example.org"), zone+"new A 192.0.2.3\n")
	second := standalone.Start(t, data, load(file, part))
	must.Say(t, second.Out, part+": zone default/example.org is in "+file+", too: their records are merged",
		"zone default/example.org: 1 Records that an earlier run made are not in "+file+", "+part+", and stay: old.example.org. A (default/old-a.example.org)")
}

// A Record can be deleted under each propagation policy of Kubernetes (S8.7). With Foreground and Orphan, Kubernetes
// would add a finalizer, and standalone there is no garbage collector that would remove it.
func TestRun_deletesUnderEveryPropagationPolicy(t *testing.T) {
	records := standalone.Start(t).KubizoneV1alpha1().Records("a")
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "www"}, Spec: v1alpha1.RecordSpec{DomainName: "www.example.org.", Type: "A", RData: "192.0.2.1"}}
		if _, err := records.Create(t.Context(), record, metav1.CreateOptions{}); err != nil {
			t.Fatalf("before %s: %v", policy, err)
		}
		if err := records.Delete(t.Context(), "www", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
			t.Fatalf("%s: %v", policy, err)
		}
		if left, err := records.Get(t.Context(), "www", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Fatalf("%s: %v, finalizers %q", policy, err, left.Finalizers)
		}
	}
}

// A dry run answers with the same status as the write (S7.3). This holds even for a change that needs no decision, such
// as that of the description alone.
func TestRun_dryRunOfADescriptionAnswersAsTheWrite(t *testing.T) {
	records := standalone.Start(t).KubizoneV1alpha1().Records("a")
	record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "www"}, Spec: v1alpha1.RecordSpec{DomainName: "www.example.org.", Type: "A", RData: "192.0.2.1"}}
	must.Get(records.Create(t.Context(), record, metav1.CreateOptions{}))(t)
	patch := []byte(`{"spec":{"description":"the web"}}`)
	dry := must.Get(records.Patch(t.Context(), "www", types.MergePatchType, patch,
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}))(t)
	wet := must.Get(records.Patch(t.Context(), "www", types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	if wet.Generation != 2 || wet.Status.ObservedGeneration != 2 || !equality.Semantic.DeepEqual(dry.Status, wet.Status) {
		t.Errorf("dry run %+v, write %+v", dry.Status, wet.Status)
	}
}

func TestRun_mayBeStoppedAtAnyMoment(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, after := range []time.Duration{0, 50 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second} {
		options := up.NewOptions()
		options.DataDir, options.Listen, options.DNSListen = dir, "127.0.0.1:0", "127.0.0.1:0"
		config := must.Get(options.Complete(io.Discard))(t)
		ctx, cancel := context.WithTimeout(t.Context(), after)
		if err := config.Run(ctx); err != nil {
			t.Errorf("stopped after %s: %v", after, err)
		}
		cancel()
	}
}
