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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
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

func (r *running) readConfig(t *testing.T) *rest.Config {
	t.Helper()
	file := filepath.Join(r.dir, "kubeconfig")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("kubeconfig: %v, %v", info.Mode(), err)
	}
	return must.Get(clientcmd.BuildConfigFromFlags("", file))(t)
}

func (r *running) makeClient(t *testing.T) versioned.Interface {
	t.Helper()
	return must.Get(versioned.NewForConfig(r.readConfig(t)))(t)
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

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// U3, L3: from an empty directory to a served zone, then a restart.
func TestRun_servesWhatItLoadsAndFindsItAgain(t *testing.T) {
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "example.net.zone"), `$ORIGIN example.net.
$TTL 3600
@	IN	SOA	ns hostmaster 7 86400 7200 3600000 300
@	IN	NS	ns
ns	IN	A	192.0.2.53
www	IN	A	192.0.2.1
www	IN	A	192.0.2.2
www	IN	A	192.0.2.300
*	IN	TXT	"any"
_dmarc	IN	TXT	"v=DMARC1; p=none"
`)
	manifest := writeFile(t, filepath.Join(dir, "zone.yaml"), `apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {namespace: b, name: www}
spec: {domainName: www.example.org., type: A, rdata: 192.0.2.9}
---
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: a, name: example-org}
spec:
  domainName: example.org.
  nameServers: [{name: ns1, addresses: [192.0.2.53]}]
  delegations: [{namespaces: [b], records: [{pattern: "*"}]}]
`)
	o := makeOptions(filepath.Join(dir, "data"))
	o.Load, o.LoadNamespace = []string{manifest, file}, "net"
	first := startServer(t, o)
	for _, want := range []string{file + ":8: ",
		"example.net.zone into zone example.net. (net/example.net): 5 RRsets; 6 written, 0 unchanged, 1 refused"} {
		if !strings.Contains(first.out.String(), want) {
			t.Errorf("nothing says %q in\n%s", want, first.out)
		}
	}
	zones, err := first.makeClient(t).KubizoneV1alpha1().Zones("").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(zones.Items) != 2 {
		t.Fatalf("zones: %v, %v", zones, err)
	}
	serials := make(map[string]uint32)
	for _, zone := range zones.Items {
		serials[zone.Status.FQDN] = uint32(zone.Status.Serial)
		if got := querySOA(t, first.findAddress(t), zone.Status.FQDN).Serial; got != uint32(zone.Status.Serial) {
			t.Errorf("%s: DNS has serial %d, the API %d", zone.Status.FQDN, got, zone.Status.Serial)
		}
	}
	records, err := first.makeClient(t).KubizoneV1alpha1().Records("").List(t.Context(),
		metav1.ListOptions{FieldSelector: v1alpha1.FieldRecordAdopted + "=True"})
	if err != nil || len(records.Items) != 6 {
		t.Fatalf("adopted records: %d, %v", len(records.Items), err)
	}
	must.Succeed(t, first.stop())

	second := startServer(t, o)
	for zone, serial := range serials {
		if got := querySOA(t, second.findAddress(t), zone).Serial; got != serial {
			t.Errorf("%s: serial %d became %d over a restart", zone, serial, got)
		}
	}
	if !strings.Contains(second.out.String(), "0 written, 6 unchanged") {
		t.Errorf("the second start says\n%s", second.out)
	}
}

// S7.5: kubectl delete records --all is held, also by a server that starts meanwhile.
func TestRun_holdsAMassDeletion_S7_5(t *testing.T) {
	clock := store.Clock{}
	apiserver.Faults.Now = clock.Now
	t.Cleanup(func() { apiserver.Faults.Now = nil })
	o := makeOptions(filepath.Join(t.TempDir(), "data"))
	r := startServer(t, o)
	api := r.makeClient(t).KubizoneV1alpha1()
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "example-org"}, Spec: v1alpha1.ZoneSpec{DomainName: "example.org.",
		NameServers: []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}}, Delegations: []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}}}
	must.Get(api.Zones("a").Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	for i := range 30 { // never deleted
		record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("b", i)}, Spec: v1alpha1.RecordSpec{DomainName: fmt.Sprintf("b%d.example.org.", i), Type: "A", RData: "192.0.2.2"}}
		must.Get(api.Records("b").Create(t.Context(), record, metav1.CreateOptions{}))(t)
	}
	for i := range 25 {
		record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("r", i)}, Spec: v1alpha1.RecordSpec{DomainName: fmt.Sprintf("r%d.example.org.", i), Type: "A", RData: "192.0.2.1"}}
		must.Get(api.Records("a").Create(t.Context(), record, metav1.CreateOptions{}))(t)
	}
	clock.PassPeriods()
	must.Succeed(t, api.Records("a").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	now := func() *v1alpha1.Zone {
		return must.Get(r.makeClient(t).KubizoneV1alpha1().Zones("a").Get(t.Context(), "example-org", metav1.GetOptions{}))(t)
	}
	served := func(serial int64, names int) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); int64(querySOA(t, r.findAddress(t), "example.org.").Serial) != serial; time.Sleep(
			10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("DNS has serial %d, not %d", querySOA(t, r.findAddress(t), "example.org.").Serial, serial)
			}
		}
		there := 0
		for i := range 25 {
			question := new(mdns.Msg)
			question.SetQuestion(fmt.Sprintf("r%d.example.org.", i), mdns.TypeA)
			answer := must.Get(mdns.Exchange(question, r.findAddress(t)))(t)
			there += len(answer.Answer)
		}
		if there != names {
			t.Errorf("%d names of 25 answer, not %d", there, names)
		}
	}
	held := now()
	settled := meta.FindStatusCondition(held.Status.Conditions, v1alpha1.ConditionSettled)
	if settled.Reason != v1alpha1.ReasonMassDeletion || held.Status.RRsetCount != 30 {
		t.Fatalf("%d RRsets are left, %+v", held.Status.RRsetCount, settled)
	}
	served(held.Status.SettledSerial, 9) // 16 of 55 may go; the next is held
	must.Succeed(t, r.stop())
	r = startServer(t, o)
	served(held.Status.SettledSerial, 9)
	transfer := func(question *mdns.Msg) (rrs []mdns.RR) {
		t.Helper()
		envelopes := must.Get(new(mdns.Transfer).In(question, r.findAddress(t)))(t)
		for e := range envelopes {
			if e.Error != nil {
				t.Fatal(e.Error)
			}
			rrs = append(rrs, e.RR...)
		}
		return rrs
	}
	since := uint32(held.Status.SettledSerial)
	// A new secondary gets the settled serial, and a current secondary nothing newer.
	if whole := transfer(new(mdns.Msg).SetAxfr("example.org.")); len(whole) != 2+2+30+9 || whole[0].(*mdns.SOA).Serial != since {
		t.Errorf("AXFR has %d records: %v", len(whole), whole)
	}
	if none := transfer(new(mdns.Msg).SetIxfr("example.org.", since, "ns.example.net.", "a.example.net.")); len(none) != 1 || none[0].(*mdns.SOA).Serial != since {
		t.Errorf("IXFR from what is delivered: %v", none)
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"kubi.zone/publish-deletions":"%d"}}}`, held.Status.SettledSerial)
	must.Get(r.makeClient(t).KubizoneV1alpha1().Zones("a").Patch(t.Context(), "example-org", types.MergePatchType, []byte(patch),
		metav1.PatchOptions{}))(t)
	served(now().Status.Serial, 0)
	// IXFR continues from there, with all removals between the two SOAs.
	gone := transfer(new(mdns.Msg).SetIxfr("example.org.", since, "ns.example.net.", "a.example.net."))
	if first, ok := gone[1].(*mdns.SOA); !ok || first.Serial != since || gone[0].(*mdns.SOA).Serial != uint32(now().Status.Serial) {
		t.Fatalf("IXFR from what was delivered: %v", gone)
	}
	addresses := 0
	for _, rr := range gone {
		if rr.Header().Rrtype == mdns.TypeA {
			addresses++
		}
	}
	if addresses != 9 {
		t.Errorf("IXFR from what was delivered has %d addresses: %v", addresses, gone)
	}
}

// If one of the files for --load is invalid, or a zone has no name servers, the start reports it and serves the other
// zones (U3).
func TestRun_servesTheRestWhereAFileCannotBeLoaded(t *testing.T) {
	dir := t.TempDir()
	readme := writeFile(t, filepath.Join(dir, "README"), "This is no zone file.\n")
	bare := writeFile(t, filepath.Join(dir, "example.net.zone"), "$TTL 60\n@ SOA ns h 1 1800 900 604800 300\n")
	good := writeFile(t, filepath.Join(dir, "db.example.org"), "$TTL 60\n@ SOA ns h 1 1800 900 604800 300\n@ NS ns\nns A 192.0.2.1\n")
	o := makeOptions(filepath.Join(dir, "data"))
	o.Load = []string{readme, bare, good}
	r := startServer(t, o)
	querySOA(t, r.findAddress(t), "example.org.")
	for _, want := range []string{
		"not loaded: " + readme + ": no SOA", "zone example.net. (default/example.net) is not servable: NoNameServers: ",
		"warning: not everything is served as --load says it: 1 source incomplete, 1 zone not servable",
	} {
		if !strings.Contains(r.out.String(), want) {
			t.Errorf("nothing says %q in\n%s", want, r.out)
		}
	}
}

// `kubizone up --load` writes zone files into the store at each start. A Record of an earlier start that no file has
// any more stays, and the start reports it. It also reports a zone that is in two files, whose records are merged.
func TestRun_saysWhatTheFilesNoLongerHave(t *testing.T) {
	dir := t.TempDir()
	const zone = "$TTL 60\n@ SOA ns h 1 1800 900 604800 300\n@ NS ns\nns A 192.0.2.1\n"
	file := writeFile(t, filepath.Join(dir, "db.example.org"), zone+"old A 192.0.2.2\n")
	o := makeOptions(filepath.Join(dir, "data"))
	o.Load = []string{file}
	first := startServer(t, o)
	if strings.Contains(first.out.String(), "an earlier run made") {
		t.Errorf("the first start says\n%s", first.out)
	}
	must.Succeed(t, first.stop())
	writeFile(t, file, zone)
	part := writeFile(t, filepath.Join(t.TempDir(), "db.example.org"), zone+"new A 192.0.2.3\n")
	o.Load = []string{file, part}
	second := startServer(t, o)
	for _, want := range []string{
		part + ": zone default/example.org is in " + file + ", too: their records are merged",
		"zone default/example.org: 1 Records that an earlier run made are not in " + file + ", " + part + ", and stay: old.example.org. A (default/old-a.example.org)",
	} {
		if !strings.Contains(second.out.String(), want) {
			t.Errorf("nothing says %q in\n%s", want, second.out)
		}
	}
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
	dry, err := records.Patch(t.Context(), "www", types.MergePatchType, patch, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatal(err)
	}
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
	writeFile(t, filepath.Join(newer, "format"), "999\n")
	file := writeFile(t, filepath.Join(t.TempDir(), "file"), "")

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
			config, err := o.Complete(newOutput())
			if err != nil {
				t.Fatal(err)
			}
			err = config.Run(t.Context())
			if err == nil {
				t.Fatal("it ran")
			}
			for _, want := range c.wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
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
