// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

type output struct {
	mutex sync.Mutex
	text  bytes.Buffer
	more  chan struct{}
}

func newOutput() *output { return &output{more: make(chan struct{}, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.String()
}

type running struct {
	out  *output
	stop func() error
	dir  string
}

// Unnamed ports are free ports.
func startServer(t *testing.T, options *Options) *running {
	t.Helper()
	out := newOutput()
	config := must.Get(options.Complete(out))(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- config.Run(ctx) }()
	var once sync.Once
	var result error
	r := &running{out: out, dir: options.DataDir, stop: func() error {
		once.Do(func() {
			cancel()
			result = <-ended
		})
		return result
	}}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
		if t.Failed() {
			t.Logf("said:\n%s", out)
		}
	})
	deadline := time.After(2 * time.Minute)
	for !strings.Contains("\n"+out.String(), "\nready") {
		select {
		case <-out.more:
		case err := <-ended:
			ended <- err
			t.Fatalf("ended before it was ready: %v\n%s", err, out)
		case <-deadline:
			t.Fatalf("not ready after two minutes:\n%s", out)
		}
	}
	return r
}

func makeOptions(dir string) *Options {
	o := NewOptions()
	o.DataDir, o.Listen, o.DNSListen = dir, "127.0.0.1:0", "127.0.0.1:0"
	return o
}

func (r *running) makeClient(t *testing.T) versioned.Interface {
	t.Helper()
	file := filepath.Join(r.dir, "kubeconfig")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("kubeconfig: %v, %v", info.Mode(), err)
	}
	return must.Get(versioned.NewForConfig(must.Get(clientcmd.BuildConfigFromFlags("", file))(t)))(t)
}

func (r *running) findAddress(t *testing.T) string {
	t.Helper()
	_, rest, _ := strings.Cut(r.out.String(), "\nready")
	_, rest, _ = strings.Cut(rest, "DNS on ")
	address, _, _ := strings.Cut(rest, " ")
	if _, err := netip.ParseAddrPort(address); err != nil {
		t.Fatalf("ready names no DNS address: %v", err)
	}
	return address
}

func querySOA(t *testing.T, server, zone string) *mdns.SOA {
	t.Helper()
	question := new(mdns.Msg)
	question.SetQuestion(zone, mdns.TypeSOA)
	answer := must.Get(mdns.Exchange(question, server))(t)
	if len(answer.Answer) == 0 {
		t.Fatalf("SOA of %s: %s", zone, mdns.RcodeToString[answer.Rcode])
	}
	return answer.Answer[0].(*mdns.SOA)
}

// If one of the files for --load is invalid, or a zone has no name servers, the start reports it and serves the other
// zones (U3).
func TestRun_servesTheRestWhereAFileCannotBeLoaded(t *testing.T) {
	dir := t.TempDir()
	readme := must.WriteFile(t, filepath.Join(dir, "README"), "This is no zone file.\n")
	bare := must.WriteFile(t, filepath.Join(dir, "example.net.zone"), "$TTL 60\n@ SOA ns h 1 1800 900 604800 300\n")
	good := must.WriteFile(t, filepath.Join(dir, "db.example.org"), "$TTL 60\n@ SOA ns h 1 1800 900 604800 300\n@ NS ns\nns A 192.0.2.1\n")
	o := makeOptions(filepath.Join(dir, "data"))
	o.Load = []string{readme, bare, good}
	r := startServer(t, o)
	querySOA(t, r.findAddress(t), "example.org.")
	must.Say(t, r.out.String(), "not loaded: "+readme+": no SOA", "zone example.net. (default/example.net) is not servable: NoNameServers: ",
		"warning: not everything is served as --load says it: 1 source incomplete, 1 zone not servable")
}

// `kubizone up --load` writes zone files into the store at each start. A Record of an earlier start that no file has
// any more stays, and the start reports it. It also reports a zone that is in two files, whose records are merged.
func TestRun_saysWhatTheFilesNoLongerHave(t *testing.T) {
	dir := t.TempDir()
	const zone = "$TTL 60\n@ SOA ns h 1 1800 900 604800 300\n@ NS ns\nns A 192.0.2.1\n"
	file := must.WriteFile(t, filepath.Join(dir, "db.example.org"), zone+"old A 192.0.2.2\n")
	o := makeOptions(filepath.Join(dir, "data"))
	o.Load = []string{file}
	first := startServer(t, o)
	if strings.Contains(first.out.String(), "an earlier run made") {
		t.Errorf("the first start says\n%s", first.out)
	}
	must.Succeed(t, first.stop())
	must.WriteFile(t, file, zone)
	part := must.WriteFile(t, filepath.Join(t.TempDir(), "db.example.org"), zone+"new A 192.0.2.3\n")
	o.Load = []string{file, part}
	second := startServer(t, o)
	must.Say(t, second.out.String(), part+": zone default/example.org is in "+file+", too: their records are merged",
		"zone default/example.org: 1 Records that an earlier run made are not in "+file+", "+part+", and stay: old.example.org. A (default/old-a.example.org)")
}

// A Record can be deleted under each propagation policy of Kubernetes (S8.7). With Foreground and Orphan, Kubernetes
// would add a finalizer, and standalone there is no garbage collector that would remove it.
func TestRun_deletesUnderEveryPropagationPolicy(t *testing.T) {
	records := startServer(t, makeOptions(filepath.Join(t.TempDir(), "data"))).makeClient(t).KubizoneV1alpha1().Records("a")
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
	records := startServer(t, makeOptions(filepath.Join(t.TempDir(), "data"))).makeClient(t).KubizoneV1alpha1().Records("a")
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

// U2
func TestRun_namesWhatIsInItsWay(t *testing.T) {
	taken := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	occupied := taken.Addr().String()

	inUse := t.TempDir()
	server := startServer(t, makeOptions(inUse))

	newer := t.TempDir()
	must.WriteFile(t, filepath.Join(newer, "format"), "999\n")
	file := must.WriteFile(t, filepath.Join(t.TempDir(), "file"), "")

	for name, c := range map[string]struct {
		change func(*Options)
		wants  []string
	}{
		"API port":     {func(o *Options) { o.Listen = occupied }, []string{"--listen " + occupied, "address already in use", "free port"}},
		"DNS port":     {func(o *Options) { o.DNSListen = occupied }, []string{"--dns-listen: ", occupied, "taken", "choose another port"}},
		"in use":       {func(o *Options) { o.DataDir = inUse }, []string{inUse, fmt.Sprint(os.Getpid()), "stop that one first"}},
		"newer format": {func(o *Options) { o.DataDir = newer }, []string{newer, "format 999", "newer kubizone"}},
		"unwritable":   {func(o *Options) { o.DataDir = filepath.Join(file, "data") }, []string{filepath.Join(file, "data"), "cannot be written"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := makeOptions(filepath.Join(t.TempDir(), "data"))
			c.change(o)
			config := must.Get(o.Complete(newOutput()))(t)
			err := config.Run(t.Context())
			must.Say(t, err, c.wants...)
		})
	}
	// The running server is unaffected.
	if _, err := server.makeClient(t).KubizoneV1alpha1().Zones("").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}

func TestRun_mayBeStoppedAtAnyMoment(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, after := range []time.Duration{0, 50 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second} {
		config := must.Get(makeOptions(dir).Complete(newOutput()))(t)
		ctx, cancel := context.WithTimeout(t.Context(), after)
		if err := config.Run(ctx); err != nil {
			t.Errorf("stopped after %s: %v", after, err)
		}
		cancel()
	}
}
