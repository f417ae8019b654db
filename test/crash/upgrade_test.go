// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// before is the world of now with the earlier programs.
func eachEarlier(t *testing.T, test func(t *testing.T, now, before *world)) {
	t.Helper()
	var revisions []string
	for line := range strings.Lines(string(must.Get(os.ReadFile("testdata/earlier.txt"))(t))) {
		if revision, _, _ := strings.Cut(strings.TrimSpace(line), " "); revision != "" && revision != "#" {
			revisions = append(revisions, revision)
		}
	}
	if len(revisions) == 0 {
		t.Skip("testdata/earlier.txt names no version: none was released")
	}
	now := requireWorld(t)
	for _, revision := range revisions {
		t.Run(revision[:min(len(revision), 8)], func(t *testing.T) {
			before := *now

			before.program = rig.Need(rig.Earlier(t.Context(), revision))(t)
			test(t, now, &before)
		})
	}
}

func (r *replica) replaceProgram(ctx context.Context, t *testing.T, program string) {
	t.Helper()
	must.Succeed(t, r.Stop(ctx))
	r.config.Program = program
	r.startReplica(ctx, t)
}

type form struct{ Format, LeastReader int }

func (e *etcd) readForm(ctx context.Context, t *testing.T) (f form) {
	t.Helper()
	found := must.Get(connectMembers(t, e.members[0]).Get(ctx, stored+"ledger/config"))(t)
	if len(found.Kvs) != 1 || json.Unmarshal(found.Kvs[0].Value, &f) != nil {
		t.Fatalf("the config of the store is %v", found.Kvs)
	}
	return f
}

// expectOutgrown: a server of an earlier version exits, names the next step and writes nothing.
func (r *replica) expectOutgrown(ctx context.Context, t *testing.T, e *etcd, program string) {
	t.Helper()
	etcd := connectMembers(t, e.members[0])
	at := must.Get(etcd.Get(ctx, stored))(t).Header.Revision
	config := r.config
	config.Program = program
	short, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err := kuberig.StartServer(short, r.dir, config)
	if err == nil || !strings.Contains(err.Error(), "start a version that knows it") {
		t.Errorf("over a store that is too new for it the earlier server says: %v", err)
	}
	if now := must.Get(etcd.Get(ctx, stored))(t).Header.Revision; now != at {
		t.Errorf("the earlier server wrote into a store that is too new for it: it was at revision %d and is at %d", at, now)
	}
}

// F31: under load, servers are replaced by the next version, one at a time, and back if the store permits. Servers of
// both versions answer, or the earlier exit with a reason. No acknowledged write is lost, no serial is used twice,
// and fsck of both versions is clean.
func TestF31_rollingUpgradeUnderLoad(t *testing.T) {
	eachEarlier(t, func(t *testing.T, now, before *world) {
		ctx := within(t, 4*waitTimeout)
		e := startEtcd(ctx, t, 1, false)
		one, other := before.startServer(ctx, t, e.listEndpoints()), before.startServer(ctx, t, e.listEndpoints())
		l := before.startLoad(ctx, t, one, other)
		l.waitAcked(ctx, t, 40)
		earlier := e.readForm(ctx, t)
		both := func(writes int) {
			t.Helper()
			for _, r := range []*replica{one, other} {
				until(ctx, t, "each of both writes", func() error { return now.tryWrite(ctx, t, r) })
			}
			l.waitAcked(ctx, t, writes)
		}

		other.replaceProgram(ctx, t, now.program)
		form := e.readForm(ctx, t)
		t.Logf("from format %d to %d, for programs that know %d", earlier.Format, form.Format, form.LeastReader)
		if form.LeastReader > earlier.Format {
			select {
			case <-one.Ended():
			case <-ctx.Done():
				t.Fatal("the earlier server goes on beside a store that is too new for it")
			}
			if !strings.Contains(one.Log(), "start a version that knows it") {
				t.Errorf("the earlier server does not say why it ends:\n%s", keepLastLines(dropUsualLines(one.Log()), 10))
			}
			one.config.Program = now.program
			one.startReplica(ctx, t)
			both(80)
			now.checkAll(ctx, t, l, e, one, other)
			return
		}
		both(80)
		one.replaceProgram(ctx, t, now.program)
		both(40)
		one.replaceProgram(ctx, t, before.program)
		both(80)
		other.replaceProgram(ctx, t, before.program)
		both(40)
		before.checkAll(ctx, t, l, e, one, other)
		other.replaceProgram(ctx, t, now.program)
		now.checkAll(ctx, t, l, e, one, other)
	})
}

// F31: the next version opens a store with data. Objects, content, serials, hashes, uids and changes are unchanged.
// Watches, a primary and a controller of the earlier version continue with the new servers, and their successors take
// over. The way back restores the same state, or a backup from before the upgrade does, with serials ahead of all
// that secondaries have seen.
func TestF31_upgradeAndWayBackWithData(t *testing.T) {
	eachEarlier(t, func(t *testing.T, now, before *world) {
		ctx := within(t, 5*waitTimeout)
		e := startEtcd(ctx, t, 1, false)
		d := newDelivered(ctx, t, now, before.startServer(ctx, t, e.listEndpoints()))
		l := before.startLoad(ctx, t, d.server)
		l.waitAcked(ctx, t, 60)
		l.endLoad()
		d.makeZone(ctx, t)
		d.servePrimary(ctx, t, before)
		d.changeZone(ctx, t)
		d.deliverRecord(ctx, t, before, "192.0.2.1")
		before.waitForCascades(ctx, t, e)
		earlier := e.readForm(ctx, t)
		had := d.readEverything(ctx, t)
		file := filepath.Join(t.TempDir(), "backup")
		before.runCommand(ctx, t, "backup", "--etcd-servers", e.listEndpoints(), file)
		informer := d.followRecords(ctx, t)

		d.server.replaceProgram(ctx, t, now.program)
		form := e.readForm(ctx, t)
		t.Logf("%d objects, from format %d to %d, for programs that know %d", len(had), earlier.Format, form.Format, form.LeastReader)
		reads := form.LeastReader <= earlier.Format
		d.expectUnchanged(ctx, t, had, reads)
		now.waitForCascades(ctx, t, e)
		d.watchFrom(ctx, t, informer.from)
		d.deliverRecord(ctx, t, before, "192.0.2.2")
		d.expectChanges(ctx, t)
		d.servePrimary(ctx, t, now)
		d.deliverRecord(ctx, t, now, "192.0.2.3")
		d.expectChanges(ctx, t)
		informer.waitForRecords(ctx, t)
		had = d.readEverything(ctx, t)

		d.servePrimary(ctx, t, before)
		if reads {
			d.server.replaceProgram(ctx, t, before.program)
			d.expectUnchanged(ctx, t, had, true)
			before.waitForCascades(ctx, t, e)
		} else {
			d.server.Kill()
			d.server.expectOutgrown(ctx, t, e, before.program)
			data, raised := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "raised")
			before.runCommand(ctx, t, "restore", file, "--data-dir", data)
			before.runCommand(ctx, t, "backup", "--data-dir", data, raised)
			e.members[0].putBack(ctx, t, raised)
			d.server.config.Program = before.program
			d.server.startReplica(ctx, t)
		}
		d.deliverRecord(ctx, t, before, "192.0.2.4")
		if reads {
			d.expectChanges(ctx, t)
		}
		informer.waitForRecords(ctx, t)
		d.server.replaceProgram(ctx, t, now.program)
		now.waitForCascades(ctx, t, e)
		now.expectAgreement(ctx, t, d.server)
	})
}

// delivered is a zone that a controller delivers to a BIND, with a server behind the aggregator.
type delivered struct {
	*world
	server  *replica
	dns     netip.AddrPort // address of the primary, in any version
	primary *primary
	bind    *rig.BIND
	api     *dynamic.DynamicClient
	kinds   []string // resources of the server that can be listed
	sets    bool     // the server has ChangeSets
	since   uint32   // serial of the zone when the first primary began to serve
	first   uint32   // the same for the present primary
	then    []string // the zone at that serial
}

const (
	keptZone = "kept.test."
	keptName = "kept"
)

func newDelivered(ctx context.Context, t *testing.T, w *world, server *replica) *delivered {
	t.Helper()
	d := &delivered{world: w, server: server, dns: must.Get(rig.FreePort())(t)}
	config := w.connectDirectly(t, server)
	d.api = must.Get(dynamic.NewForConfig(config))(t)
	served := must.Get(must.Get(discovery.NewDiscoveryClientForConfig(config))(t).ServerResourcesForGroupVersion(
		kubizone.GroupVersion().String()))(t)
	for _, r := range served.APIResources {
		d.sets = d.sets || r.Name == "changesets"
		if slices.Contains(r.Verbs, "list") {
			d.kinds = append(d.kinds, r.Name)
		}
	}
	if err := w.kube.Aggregate(ctx, server.Addr, w.kube.ClusterCA.PEM); err != nil { // the controller's Lease is there
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.kube.Unaggregate(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	if _, _, err := w.kube.WaitAvailable(ctx, true); err != nil {
		t.Fatal(err)
	}
	bind := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{Secondaries: []rig.SecondaryZone{{Zone: keptZone, Primary: d.dns}}}))(t)
	d.bind = bind
	return d
}

var kubizone = schema.GroupVersionResource{Group: "kubi.zone", Version: "v1alpha1"}

func (d *delivered) clientOf(resource string) dynamic.NamespaceableResourceInterface {
	return d.api.Resource(kubizone.GroupVersion().WithResource(resource))
}

func (d *delivered) applyObject(ctx context.Context, t *testing.T, resource, text string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	must.Succeed(t, yaml.Unmarshal([]byte(text), o))
	o.SetAPIVersion(kubizone.GroupVersion().String())
	var to dynamic.ResourceInterface = d.clientOf(resource)
	if resource != "dnsclasses" {
		to = d.clientOf(resource).Namespace(owner)
	}
	var err error
	if o.GetName() == "" {
		_, err = to.Create(ctx, o, metav1.CreateOptions{FieldManager: "upgrade"})
	} else {
		_, err = to.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "upgrade"})
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", resource, err, text)
	}
}

func (d *delivered) applyRecord(ctx context.Context, t *testing.T, name, kind string, values ...string) {
	t.Helper()
	d.applyObject(ctx, t, "records", recordText(name, kind, values...))
}

func recordText(name, kind string, values ...string) string {
	return fmt.Sprintf(`{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: %[1]s}, spec: {zoneRef: {name: %[4]s}, domainName: %[1]s, type: %[2]s, values: ["%[3]s"]}}`,
		name, kind, strings.Join(values, `", "`), keptName)
}

func (d *delivered) makeZone(ctx context.Context, t *testing.T) {
	t.Helper()
	d.applyObject(ctx, t, "dnsclasses", fmt.Sprintf(`{kind: DNSClass, metadata: {name: secondaries}, spec: {allowLocalAddresses: true, `+
		`namespaces: {selector: {}}, transfer: {secondaries: [{address: %q}]}}}`, d.bind.Addr))
	d.applyObject(ctx, t, "zones", `{kind: Zone, metadata: {name: kept, labels: {tier: gold}, annotations: {note: kept}}, spec: {domainName: kept.test., dnsClassRefs: [{name: secondaries}],
  nameServers: [{name: ns1, addresses: [192.0.2.53, "2001:db8::53"]}], delegations: [{records: [{pattern: "*"}, {pattern: "@"}], zones: [child]}]}}`)
	d.applyObject(ctx, t, "zones", `{kind: Zone, metadata: {name: child}, spec: {domainName: child.kept.test., nameServers: [{name: ns, `+
		`addresses: [192.0.2.54]}]}}`)
	d.applyRecord(ctx, t, "www", "A", "192.0.2.80")
	d.applyRecord(ctx, t, "mail", "MX", "10 www")
	d.applyRecord(ctx, t, "goes", "TXT", "soon removed")
	var many []string // a zone no longer than its changes would be transferred whole
	for i := range 90 {
		many = append(many, fmt.Sprintf("192.0.2.%d", i))
	}
	d.applyRecord(ctx, t, "many", "A", many...)
}

// changeZone makes later history: a removed RRset, and a Delegation and a ChangeSet if the version has them.
func (d *delivered) changeZone(ctx context.Context, t *testing.T) {
	t.Helper()
	must.Succeed(t, d.clientOf("records").Namespace(owner).Delete(ctx, "goes", metav1.DeleteOptions{}))
	d.applyRecord(ctx, t, "nobody", "CNAME", "www")
	d.applyRecord(ctx, t, "mail", "MX", "10 www", "20 ns1")
	if slices.Contains(d.kinds, "delegations") {
		d.applyObject(ctx, t, "delegations", `{kind: Delegation, metadata: {name: deep}, spec: {zoneRef: {name: kept}, namespaces: [`+owner+
			`, `+listTeams()[0]+`], records: [{pattern: "*.deep"}]}}`)
		d.applyRecord(ctx, t, "below.deep", "TXT", "by a Delegation")
	}
	if d.sets {
		d.applyObject(ctx, t, "changesets", `{kind: ChangeSet, spec: {items: [{apply: `+recordText("one", "A", "192.0.2.1")+`}, {apply: `+
			recordText("two", "A", "192.0.2.2")+`}, {delete: {name: nobody}}]}}`)
	}
}

func (d *delivered) readEverything(ctx context.Context, t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, kind := range d.kinds {
		for _, o := range must.Get(d.clientOf(kind).List(ctx, metav1.ListOptions{}))(t).Items {
			all[kind+" "+o.GetNamespace()+"/"+o.GetName()] = string(must.Get(json.Marshal(o.Object))(t))
		}
	}
	from := d.clientsOf(t, d.server)[0]
	for _, z := range must.Get(from.Zones("").List(ctx, metav1.ListOptions{}))(t).Items {
		if z.Status.FQDN != "" {
			_, _, text, err := readEntries(ctx, from, &z)
			all["content of "+z.Namespace+"/"+z.Name] = must.Get(text, err)(t)
		}
	}
	changes := from.RESTClient().Get().Namespace(owner).Resource("zones").Name(keptName).SubResource("changes").Param("since", fmt.Sprint(d.since)).Do(ctx)
	all["changes of "+keptName] = string(must.Get(changes.Raw())(t))
	return all
}

// expectUnchanged includes resourceVersions if both have the same format. Record counts of Delegations are ignored: a
// starting server computes them.
func (d *delivered) expectUnchanged(ctx context.Context, t *testing.T, had map[string]string, versions bool) {
	t.Helper()
	has := d.readEverything(ctx, t)
	compared := func(path, text string) string {
		o := &unstructured.Unstructured{}
		counted := strings.HasPrefix(path, "delegations ")
		if versions && !counted || json.Unmarshal([]byte(text), &o.Object) != nil {
			return text
		}
		if o.SetResourceVersion(""); counted {
			unstructured.RemoveNestedField(o.Object, "status", "records")
		}
		return string(must.Get(json.Marshal(o.Object))(t))
	}
	wrong := 0
	for _, path := range slices.Sorted(maps.Keys(had)) {
		if was, is := compared(path, had[path]), compared(path, has[path]); was != is {
			if wrong++; wrong <= 5 {
				t.Errorf("%s was\n%s\nand is\n%s", path, was, is)
			}
		}
		delete(has, path)
	}
	if wrong > 5 || len(has) > 0 {
		t.Errorf("%d of %d are not what they were, and these are new: %v", wrong, len(had), slices.Sorted(maps.Keys(has)))
	}
}

func (d *delivered) servePrimary(ctx context.Context, t *testing.T, by *world) {
	t.Helper()
	if d.primary != nil {
		d.primary.killPrimary()
	}
	d.primary = by.startPrimary(ctx, t, d.server, "--dns-listen", d.dns.String())
	if d.first, d.then = d.transferKept(ctx, t); d.since == 0 {
		d.since = d.first
	}
}

func (d *delivered) transferKept(ctx context.Context, t *testing.T) (serial uint32, all []string) {
	t.Helper()
	until(ctx, t, "the primary has the zone", func() (err error) { all, err = transferZone(d.primary.dns, keptZone); return err })
	return withoutSOA(t, all)
}

// expectChanges: an IXFR from the primary's first serial leads to the current zone and is not a whole transfer.
func (d *delivered) expectChanges(ctx context.Context, t *testing.T) {
	t.Helper()
	serial, want := d.transferKept(ctx, t)
	answer := must.Get(transferChanges(d.primary.dns, keptZone, d.first))(t)
	if len(answer) < 4 || answer[1].Header().Rrtype != mdns.TypeSOA {
		t.Errorf("IXFR from %d to %d answers with %d records, which are no differences", d.first, serial, len(answer))
	}
	if have := applyChanges(d.then, answer); !slices.Equal(have, want) {
		t.Errorf("IXFR from %d leads to another zone than AXFR at %d:\n%s", d.first, serial, describeDifference(have, want))
	}
}

// deliverRecord runs a controller of a version: a written record reaches the secondary, and Record and Zone become
// Ready.
func (d *delivered) deliverRecord(ctx context.Context, t *testing.T, by *world, address string) {
	t.Helper()
	controller := must.Get(rig.StartProcess(nil, t.TempDir(), by.program, "controller", "--kubeconfig", d.kube.AdminKubeconfig(),
		"--health-listen", "127.0.0.1:0", "--lease-duration", "30s"))(t)
	defer controller.End()
	d.applyRecord(ctx, t, "www", "A", address)
	var serial uint32
	for _, of := range [][2]string{{"records", "www"}, {"zones", keptName}} {
		until(ctx, t, of[1]+" is delivered", func() error {
			o, err := d.clientOf(of[0]).Namespace(owner).Get(ctx, of[1], metav1.GetOptions{})
			if err != nil {
				return err
			}
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			for _, c := range conditions {
				if c := c.(map[string]any); c["type"] == "Ready" && c["status"] == "True" {
					at, _, _ := unstructured.NestedInt64(o.Object, "status", "serial")
					serial = uint32(at)
					return nil
				}
			}
			return fmt.Errorf("%v; the controller says:\n%s", conditions, keepLastLines(controller.Log(), 5))
		})
	}
	must.Succeed(t, d.bind.WaitSerial(ctx, keptZone, serial))
	answer := must.Get(rig.Dig{Server: d.bind.Addr}.Run(ctx, "+short", "+norecurse", "www."+keptZone, "A"))(t)
	if strings.TrimSpace(answer) != address {
		t.Errorf("Ready, and the secondary answers %q, not %s", answer, address)
	}
}

type following struct {
	*informer
	d    *delivered
	from string
}

func (d *delivered) followRecords(ctx context.Context, t *testing.T) *following {
	t.Helper()
	f := &following{informer: followRecords(ctx, d.clientsOf(t, d.server)[0]), d: d}
	f.from = must.Get(d.clientOf("records").List(ctx, metav1.ListOptions{}))(t).GetResourceVersion()
	f.waitForRecords(ctx, t)
	return f
}

func (f *following) waitForRecords(ctx context.Context, t *testing.T) {
	t.Helper()
	f.informer.waitForRecords(ctx, t, f.d.clientsOf(t, f.d.server)[0])
}

// watchFrom: a watch from a version before the upgrade continues with later events in order, or is told to list.
func (d *delivered) watchFrom(ctx context.Context, t *testing.T, version string) {
	t.Helper()
	d.applyRecord(ctx, t, "new", "TXT", "since")
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	events, err := d.clientOf("records").Watch(ctx, metav1.ListOptions{ResourceVersion: version})
	last, _ := strconv.ParseInt(version, 10, 64)
	for err == nil {
		event, open := <-events.ResultChan()
		if !open {
			t.Fatalf("a watch from version %s ends without what came since", version)
		}
		if event.Type == watch.Error {
			err = apierrors.FromObject(event.Object)
			break
		}
		o := event.Object.(*unstructured.Unstructured)
		at := must.Get(strconv.ParseInt(o.GetResourceVersion(), 10, 64))(t)
		if at <= last {
			t.Errorf("version %d comes after %d", at, last)
		}
		if last = at; o.GetName() == "new" {
			events.Stop()
			t.Logf("a watch from version %s goes on", version)
			return
		}
	}
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("a watch from version %s ends with %v", version, err)
	}
	t.Logf("a watch from version %s: %v", version, err)
}
