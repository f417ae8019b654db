// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package mass_deletion_held

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

const timeout = 3 * time.Minute

var (
	transferKey = rig.TSIGKey{Name: "transfer.example", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
	updateKey   = rig.TSIGKey{Name: "update.example", Algorithm: "hmac-sha256", Secret: "YW5vdGhlciBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3Q="}
)

// clock is the file with the offset of the programs' clocks.
var kubizone, webhookServer, clock string

// passPeriods advances the servers' clocks by half an hour, after which every record counts (S7.5).
func passPeriods(t *testing.T, all time.Duration) {
	t.Helper()
	must.Succeed(t, os.WriteFile(clock+".new", []byte(all.String()), 0o600))
	must.Succeed(t, os.Rename(clock+".new", clock))
}

func TestMain(m *testing.M) {
	rig.RetrySoon()
	if err := os.Setenv("DNS_RECORD_RETRY_MAX_DELAY", "2s"); err != nil {
		panic(err)
	}
	rig.Main("held", func(dir string) (_ int, err error) {
		clock = filepath.Join(dir, "clock") // read by builds with faults (test/faults)
		if err := cmp.Or(os.WriteFile(clock, []byte("0s"), 0o600), os.Setenv("KUBIZONE_CLOCK", clock)); err != nil {
			panic(err)
		}
		if kubizone, err = rig.Kubizone(context.Background(), dir, "faultpoints"); err == nil {
			webhookServer, err = rig.WebhookServer(context.Background(), dir)
		}
		if err != nil {
			return 1, err
		}
		return m.Run(), nil
	})
}

type program struct {
	*testing.T
	path  string
	args  []string
	ready *regexp.Regexp
	*rig.Process
}

func runProgram(t *testing.T, ready, path string, args ...string) *program {
	t.Helper()
	p := &program{T: t, path: path, args: args, ready: regexp.MustCompile(`(?m)` + ready)}
	p.startProgram()
	t.Cleanup(func() {
		p.End()
		if t.Failed() {
			message := p.Process.Log()
			t.Logf("%s %s said:\n%s", filepath.Base(path), args[0], message[max(0, len(message)-10_000):])
		}
	})
	return p
}

func (p *program) startProgram() {
	p.Helper()
	var err error
	if p.Process, err = rig.StartProcess(nil, p.TempDir(), p.path, p.args...); err != nil {
		p.Fatal(err)
	}
	waitUntil(p.T, filepath.Base(p.path)+" "+p.args[0]+" is ready", func() string {
		select {
		case <-p.Ended():
			p.Fatalf("%s %s ended: %v\n%s", p.path, p.args[0], p.Err(), p.Process.Log())
		default:
		}
		if p.ready.MatchString(p.Process.Log()) {
			return ""
		}
		return "it says no such line"
	})
}

func (p *program) restartProgram() {
	p.Helper()
	p.Kill()
	p.startProgram()
}

func waitUntil(t *testing.T, what string, against func() string) {
	t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(50 * time.Millisecond) {
		reason := against()
		if reason == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("never so: %s: %s", what, reason)
		}
	}
}

// place is a server with the zone: a primary, a secondary, or the server of a class.
type place struct {
	name string
	at   netip.AddrPort
	key  *rig.TSIGKey
	// serial: the place has the serials of the Zone.
	serial bool
}

// transferZone sorts the records other than the SOA.
func (p place) transferZone() (uint32, []string, error) {
	question := new(mdns.Msg).SetAxfr("example.org.")
	transfer := &mdns.Transfer{DialTimeout: 2 * time.Second, ReadTimeout: 5 * time.Second}
	if p.key != nil {
		transfer.TsigSecret = map[string]string{p.key.Name + ".": p.key.Secret}
		question.SetTsig(p.key.Name+".", mdns.HmacSHA256, 300, time.Now().Unix())
	}
	envelopes, err := transfer.In(question, p.at.String())
	if err != nil {
		return 0, nil, err
	}
	var serial uint32
	var all []string
	for e := range envelopes {
		if err = e.Error; err != nil {
			continue // read to the end
		}
		for _, rr := range e.RR {
			if soa, ok := rr.(*mdns.SOA); ok {
				serial = soa.Serial
				continue
			}
			all = append(all, strings.Join(strings.Fields(rr.String()), " "))
		}
	}
	slices.Sort(all)
	return serial, all, err
}

func (p place) compareZone(serial int64, want []string) string {
	at, has, err := p.transferZone()
	switch {
	case err != nil:
		return err.Error()
	case p.serial && int64(at) != serial:
		return fmt.Sprintf("%s has serial %d, want %d", p.name, at, serial)
	}
	return describeDifference(p.name, has, want)
}

func describeDifference(place string, has, want []string) string {
	if slices.Equal(has, want) {
		return ""
	}
	var lacks, more []string
	for _, line := range want {
		if !slices.Contains(has, line) {
			lacks = append(lacks, line)
		}
	}
	for _, line := range has {
		if !slices.Contains(want, line) {
			more = append(more, line)
		}
	}
	return fmt.Sprintf("%s lacks %d records %.300q and has %d beside %.300q", place, len(lacks), lacks, len(more), more)
}

type world struct {
	*testing.T
	api                       typed.KubizoneV1alpha1Interface
	secrets, kubeconfig       string
	up                        *program
	primaries                 [2]*program
	bind                      *rig.BIND // secondary of the first primary
	knot                      *rig.Knot // secondary of the second
	ofBIND, ofKnot            []rig.SecondaryZone
	first, second             place // the primaries
	secondBIND, secondKnot    place
	update, moved, hook, late place
}

func (w *world) writeSecret(path, text string) string {
	w.Helper()
	path = filepath.Join(w.secrets, path)
	must.Succeed(w, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Succeed(w, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func (w *world) findPort() netip.AddrPort {
	w.Helper()
	return must.Get(rig.FreePort())(w)
}

const empty = "example.org. 360 IN SOA ns.example.net. hostmaster.example.org. 1 86400 7200 3600000 360\nexample.org. 360 IN NS ns.example.net.\n"

// startWorld has a server, two more primaries with a secondary each, and servers for four classes, a later and a
// moved class included.
func startWorld(t *testing.T) *world {
	t.Helper()
	ctx := rig.Within(t, timeout)
	dir := t.TempDir()
	w := &world{T: t, secrets: filepath.Join(dir, "secrets"), kubeconfig: filepath.Join(dir, "data", "kubeconfig")}
	for name, key := range map[string]rig.TSIGKey{"transfer": transferKey, "update": updateKey} {
		w.writeSecret("dns/"+name+"/name", key.Name)
		w.writeSecret("dns/"+name+"/algorithm", key.Algorithm)
		w.writeSecret("dns/"+name+"/secret", key.Secret)
	}
	hmac := w.writeSecret("dns/hook/key", "a secret of the webhook server")

	target := func() netip.AddrPort {
		t.Helper()
		bind := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{Keys: []rig.TSIGKey{updateKey}, Primaries: []rig.PrimaryZone{{Zone: "example.org.", Text: empty, UpdateKey: updateKey.Name}}}))(t)
		return bind.Addr
	}
	written := rig.NeedServer(rig.StartKnot(ctx, rig.KnotConfig{Key: &updateKey, Zones: []rig.PrimaryZone{{Zone: "example.org.", Text: empty, UpdateKey: updateKey.Name}}}))(t)
	w.update = place{name: "the server of the class update", at: target(), key: &updateKey}
	w.moved = place{name: "the server to which the class update is moved", at: target(), key: &updateKey}
	w.late = place{name: "the server of the class late", at: target(), key: &updateKey}
	w.hook = place{name: "the server behind the webhook server", at: written.Addr, key: &updateKey}
	w.first = place{name: "the first primary", at: w.findPort(), key: &transferKey, serial: true}
	w.second = place{name: "the second primary", at: w.findPort(), key: &transferKey, serial: true}
	w.secondBIND = place{name: "BIND", at: w.findPort(), serial: true}
	w.secondKnot = place{name: "Knot", at: w.findPort(), key: &transferKey, serial: true}
	w.ofBIND = []rig.SecondaryZone{{Zone: "example.org.", Primary: w.first.at, Key: transferKey.Name}}
	w.ofKnot = []rig.SecondaryZone{{Zone: "example.org.", Primary: w.second.at, Key: transferKey.Name}}

	hook := w.findPort()
	runProgram(t, `^ready`, webhookServer, "--listen", hook.String(), "--hmac-secret-file", hmac, "--rfc2136-server", written.Addr.String(),
		"--tsig-key-file", w.writeSecret("update.key", updateKey.Statement()))
	w.up = runProgram(t, `^ready`, kubizone, "up", "--data-dir", filepath.Dir(w.kubeconfig), "--listen", w.findPort().String(),
		"--dns-listen", "127.0.0.1:0", "--secrets-dir", w.secrets)
	for i, at := range []netip.AddrPort{w.first.at, w.second.at} {
		w.primaries[i] = runProgram(t, `^ready: DNS on`, kubizone, "primary", "--dns-listen", at.String(), "--health-listen", "127.0.0.1:0",
			"--transfer-allow", "", "--kubeconfig", w.kubeconfig, "--secrets-dir", w.secrets)
	}
	config := must.Get(clientcmd.BuildConfigFromFlags("", w.kubeconfig))(t)
	config.QPS = -1
	client := must.Get(versioned.NewForConfig(config))(t)
	w.api = client.KubizoneV1alpha1()

	ref := func(name string) v1alpha1.SecretReference {
		return v1alpha1.SecretReference{Namespace: "dns", Name: name}
	}
	transfer := ref("transfer")
	w.makeClass("secondaries", v1alpha1.DNSClassSpec{Transfer: &v1alpha1.TransferProvider{TSIGSecretRef: &transfer,
		Secondaries: []v1alpha1.Secondary{{Address: w.secondBIND.at.String()}, {Address: w.secondKnot.at.String()}}}})
	w.makeClass("update", v1alpha1.DNSClassSpec{RFC2136: &v1alpha1.RFC2136Provider{Server: w.update.at.String(),
		TSIGSecretRef: ref("update")}})
	w.makeClass("late", v1alpha1.DNSClassSpec{RFC2136: &v1alpha1.RFC2136Provider{Server: w.late.at.String(), TSIGSecretRef: ref("update")}})
	w.makeClass("hook", v1alpha1.DNSClassSpec{Webhook: &v1alpha1.WebhookProvider{Server: "http://" + hook.String(),
		HMACAuth: &v1alpha1.HMACAuth{SecretRef: &v1alpha1.SecretKeyReference{Namespace: "dns", Name: "hook", Key: "key"}}}})
	return w
}

func (w *world) makeClass(name string, spec v1alpha1.DNSClassSpec) {
	w.Helper()
	spec.AllowLocalAddresses, spec.Namespaces = true, &v1alpha1.NamespaceSelection{Names: []string{"infra"}}
	must.Get(w.api.DNSClasses().Create(w.Context(), &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec},
		metav1.CreateOptions{}))(w)
}

// startBIND and startKnot start a secondary without data, which transfers the whole zone.
func (w *world) startBIND() {
	w.Helper()
	var err error
	w.bind, err = rig.StartBIND(rig.Within(w, timeout), rig.BINDConfig{Addr: w.secondBIND.at, Keys: []rig.TSIGKey{transferKey}, Secondaries: w.ofBIND})
	rig.SkipMissing(w, err)
	bind := w.bind
	w.Cleanup(func() { bind.Close() })
}

func (w *world) startKnot() {
	w.Helper()
	var err error
	w.knot, err = rig.StartKnot(rig.Within(w, timeout), rig.KnotConfig{Addr: w.secondKnot.at, Key: &transferKey, Secondaries: w.ofKnot})
	rig.SkipMissing(w, err)
	knot := w.knot
	w.Cleanup(func() { knot.Close() })
}

func (w *world) makeRecord(namespace, name string) error {
	_, err := w.api.Records(namespace).Create(w.Context(), &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RecordSpec{
		DomainName: name + ".example.org.", Type: "A", RData: "192.0.2.1",
	}}, metav1.CreateOptions{})
	return err
}

func makeLines(names ...string) []string {
	out := []string{"example.org. 360 IN NS ns.example.net."}
	for _, name := range names {
		out = append(out, name+".example.org. 360 IN A 192.0.2.1")
	}
	slices.Sort(out)
	return out
}

func (w *world) patchZone(format string, args ...any) *v1alpha1.Zone {
	w.Helper()
	zone := must.Get(w.api.Zones("infra").Patch(w.Context(), "example", types.MergePatchType, fmt.Appendf(nil, format, args...), metav1.PatchOptions{}))(w)
	return zone
}

func (w *world) getZone() *v1alpha1.Zone {
	w.Helper()
	return must.Get(w.api.Zones("infra").Get(w.Context(), "example", metav1.GetOptions{}))(w)
}

func (w *world) nameClasses(names ...string) {
	w.Helper()
	var refs []string
	for _, name := range names {
		refs = append(refs, fmt.Sprintf(`{"name":%q}`, name))
	}
	w.patchZone(`{"spec":{"dnsClassRefs":[%s]}}`, strings.Join(refs, ","))
}

func (w *world) runEach(n int, do func(i int) error) {
	w.Helper()
	var group errgroup.Group
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error { return do(i) })
	}
	must.Succeed(w, group.Wait())
}

func (w *world) waitForCondition(record, condition, want string) {
	w.Helper()
	what := fmt.Sprintf("%s is %s", cmp.Or(record, "the Zone"), want)
	waitUntil(w.T, what, func() string {
		conditions := w.getZone().Status.Conditions
		if record != "" {
			one, err := w.api.Records("team").Get(w.Context(), record, metav1.GetOptions{})
			if err != nil {
				return err.Error()
			}
			conditions = one.Status.Conditions
		}
		is := meta.FindStatusCondition(conditions, condition)
		if is == nil || string(is.Status)+" "+is.Reason != want {
			return fmt.Sprintf("%+v%s", is, w.describeDeliveries())
		}
		return ""
	})
}

func (w *world) describeDeliveries() string {
	list, err := w.api.Deliveries("infra").List(w.Context(), metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, one := range list.Items {
		fmt.Fprintf(&text, "\n%s: %+v", one.Spec.ClassRef.Name, one.Status)
	}
	return text.String()
}

func (w *world) waitForArrival(serial int64, want []string, at ...place) {
	w.Helper()
	for _, p := range at {
		waitUntil(w.T, "what is delivered is at "+p.name, func() string { return p.compareZone(serial, want) })
	}
}

// watchPlaces polls the places until stop: any content served must be the wanted content.
func (w *world) watchPlaces(want []string, at ...place) (stop func()) {
	ctx, cancel := context.WithCancel(w.Context())
	var looking sync.WaitGroup
	looks := make([]int, len(at))
	for i, p := range at {
		looking.Go(func() {
			for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
				_, has, err := p.transferZone()
				if err != nil {
					continue
				}
				looks[i]++
				if reason := describeDifference(p.name, has, want); reason != "" {
					w.Errorf("while the zone is held %s", reason)
					return
				}
			}
		})
	}
	return sync.OnceFunc(func() {
		w.Helper()
		cancel()
		looking.Wait()
		for i, n := range looks {
			if n == 0 {
				w.Errorf("%s was never seen", at[i].name)
			}
		}
		w.Logf("the places were looked at %v times", looks)
	})
}
