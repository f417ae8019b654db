// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package odd_zones proves: BIND, Knot, NSD and PowerDNS load every Servable zone that the API admits, from a file,
// by AXFR and by IXFR, with exactly its entries (S5.11).
package odd_zones

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubetypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubizone/up"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/standalone"
)

var (
	zones = flag.Int("zones", 9, "odd zones to make, the root included")
	most  = flag.Int("values", 8, "most values to take of a type; 0: all that are made")
	seed  = flag.Uint64("seed", 5936, "where their oddities come from")
)

const namespace = "default"

func startServer(t *testing.T) (versioned.Interface, netip.AddrPort) {
	t.Helper()
	rig.SpareGarbage()
	dns := must.Get(rig.FreePort())(t)
	// Disks are irrelevant here, so thousands of writes go to memory if possible.
	dir, err := os.MkdirTemp("/dev/shm", "kubizone-odd-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	running := standalone.Start(t, func(options *up.Options) { options.DataDir, options.DNSListen = dir, dns.String() })
	return running.Interface, dns
}

type tenant struct {
	*testing.T
	versioned.Interface
	mutex    sync.Mutex
	objects  []string // of its zones
	admitted map[string]int
	refused  map[string]int // by type: refusals keep the promise
}

type record struct {
	object, zone string
	spec         v1alpha1.RecordSpec
}

func (c *tenant) makeZone(object string, spec v1alpha1.ZoneSpec) {
	c.Helper()
	if spec.Limits == nil {
		spec.Limits = &v1alpha1.ZoneLimits{}
	}
	spec.Limits.MaxDeletePercent = new(int32(100)) // S7.5: removals must arrive
	z := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: object}, Spec: spec}
	if _, err := c.KubizoneV1alpha1().Zones(namespace).Create(c.Context(), z, metav1.CreateOptions{}); err != nil {
		c.Fatalf("zone %s: %v", spec.DomainName, err)
	}
	c.objects = append(c.objects, object)
}

func runEach(records []record, do func(record)) {
	work := make(chan record)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for r := range work {
				do(r)
			}
		})
	}
	for _, r := range records {
		work <- r
	}
	close(work)
	wait.Wait()
}

func (c *tenant) writeRecords(records []record) (admitted []record) {
	runEach(records, func(r record) {
		spec := r.spec
		spec.ZoneRef = &v1alpha1.ZoneReference{Name: r.zone}
		_, err := c.KubizoneV1alpha1().Records(namespace).Create(c.Context(), &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: r.object}, Spec: spec}, metav1.CreateOptions{})
		c.mutex.Lock()
		defer c.mutex.Unlock()
		switch {
		case err == nil:
			c.admitted[r.spec.Type]++
			admitted = append(admitted, r)
		case apierrors.IsInvalid(err) || apierrors.IsForbidden(err):
			c.refused[r.spec.Type]++
		default:
			c.Errorf("%s %s: %v", spec.DomainName, spec.Type, err)
		}
	})
	return admitted
}

func (c *tenant) removeRecords(records []record) {
	runEach(records, func(r record) {
		if err := c.KubizoneV1alpha1().Records(namespace).Delete(c.Context(), r.object, metav1.DeleteOptions{}); err != nil {
			c.Errorf("%s %s: %v", r.spec.DomainName, r.spec.Type, err)
		}
	})
}

type held struct {
	fqdn, file string
	serial     uint32
}

// readSettled reads all settled zones. The parent has the child's glue if glue is true (S6.1).
func (c *tenant) readSettled(glue bool) (all []held) {
	c.Helper()
	for _, object := range c.objects {
		z := c.waitForServable(object)
		if all = append(all, z); object == "parent" && strings.Contains(z.file, "child.parent.example.") != glue {
			c.Errorf("S6.1: the child's name server has an address: %v; the parent has\n%s", glue, z.file)
		}
	}
	return all
}

func (c *tenant) waitForServable(object string) held {
	c.Helper()
	ctx := rig.Within(c.T, 2*time.Minute)
	for {
		z := must.Get(c.KubizoneV1alpha1().Zones(namespace).Get(ctx, object, metav1.GetOptions{}))(c)
		if !apimeta.IsStatusConditionTrue(z.Status.Conditions, "Settled") {
			if ctx.Err() != nil {
				c.Fatalf("zone %s does not settle: %+v", z.Status.FQDN, z.Status.Conditions)
			}
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if !apimeta.IsStatusConditionTrue(z.Status.Conditions, "Servable") {
			c.Fatalf("zone %s was made to be servable: %+v", z.Status.FQDN, z.Status.Conditions)
		}
		file, err := c.KubizoneV1alpha1().RESTClient().Get().Namespace(namespace).Resource("zones").Name(object).SubResource("entries").SetHeader("Accept", "text/dns").DoRaw(ctx)
		if err != nil {
			c.Fatal(err)
		}
		return held{fqdn: z.Status.FQDN, file: string(file), serial: uint32(z.Status.Serial)}
	}
}

func (c *tenant) makeOddZones(samples []sample) (part []record) {
	g := &generator{seed: *seed, samples: samples}
	for i := range *zones {
		odd := g.makeZone(i)
		object := fmt.Sprintf("odd-%d", i)
		c.makeZone(object, odd.spec)
		var all []record
		for n, spec := range odd.records {
			all = append(all, record{object: fmt.Sprintf("%s-%d", object, n), zone: object, spec: spec})
		}
		admitted := c.writeRecords(all)
		if len(admitted) < 10 {
			c.Errorf("only %d records of %s were admitted: it is not odd", len(admitted), odd.spec.DomainName)
		}
		admitted = slices.DeleteFunc(admitted, func(r record) bool { return len(r.spec.Values) > 2 })
		part = append(part, admitted[:len(admitted)/3]...)
	}
	return part
}

// allowEverything lets the zone's namespace write every type, also by number.
func allowEverything() []v1alpha1.DelegationRule {
	var numbers []string
	for _, rt := range listTypes() {
		if rt.ByNumber() {
			numbers = append(numbers, rt.String())
		}
	}
	return []v1alpha1.DelegationRule{{Zones: []string{"*"}, DS: true, Records: []v1alpha1.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}, {Pattern: "*", Types: numbers}, {Pattern: "@", Types: numbers}}}}
}

func plainZone(fqdn string) v1alpha1.ZoneSpec {
	return v1alpha1.ZoneSpec{DomainName: fqdn, Delegations: allowEverything(),
		NameServers: []v1alpha1.NameServer{{Name: "ns", Addresses: []string{"192.0.2.53"}}}}
}

// A zone keeps a thousand steps, and is transferred whole if the difference is as long as the zone. So this bounds
// the records between two transfers.
const mostSteps = 700

// spreadRecords creates zones for later records, each with more rows than will come.
func (c *tenant) spreadRecords(prefix string, records []record) []record {
	var ballast []record
	rows, object := 0, ""
	fill := func() {
		for n := 0; rows >= 0 && object != ""; n++ {
			var values []string
			for i := range 100 {
				values = append(values, fmt.Sprintf("198.51.%d.%d", n, i))
			}
			ballast = append(ballast, record{fmt.Sprintf("%s-filled-%d", object, n), object, v1alpha1.RecordSpec{DomainName: fmt.Sprintf("filled%d", n), Type: "A", Values: values}})
			rows -= 100
		}
		rows = 0
	}
	for i := range records {
		if i%mostSteps == 0 {
			fill()
			object = fmt.Sprintf("%s%d", prefix, i/mostSteps)
			c.makeZone(object, plainZone(object+".values.example."))
		}
		records[i].zone = object
		rows += len(records[i].spec.Values)
	}
	fill()
	if n := len(c.writeRecords(ballast)); n != len(ballast) {
		c.Fatalf("%d of %d records were refused", len(ballast)-n, len(ballast))
	}
	return records
}

func (c *tenant) valuesOf(samples []sample) map[rdata.Type][]value {
	rnd := rand.New(rand.NewPCG(*seed, 0))
	all, refused := makeValues(c.T, samples, rnd)
	for _, rt := range listTypes() {
		taken := all[rt]
		// With mostly refused values, a type would hardly be tested.
		if len(taken) < 10 || len(taken)*40 < refused[rt] {
			c.Errorf("%s: %d values are taken and %d refused: give its fields other ends", rt, len(taken), refused[rt])
		}
		rest := taken[1:] // the first is an admitted sample
		rnd.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		if *most > 0 {
			all[rt] = taken[:min(*most, len(taken))]
		}
	}
	return all
}

func makeSingleRecords(all map[rdata.Type][]value) (records []record) {
	for _, rt := range listTypes() {
		for i, v := range all[rt] {
			object := fmt.Sprintf("v%d-%d", rt, i)
			records = append(records, record{object: object, spec: v1alpha1.RecordSpec{DomainName: object, Type: rt.String(), Values: []string{v.text}}})
		}
	}
	// Tenants have zones of all types, not a zone for each type.
	rand.New(rand.NewPCG(*seed, 1)).Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	return records
}

// makeRRsets makes RRsets of admitted values, for each type with two values and with as many as fit (S5.8).
func (c *tenant) makeRRsets(admitted []record) (records []record) {
	by := map[string][]string{}
	for _, r := range admitted {
		by[r.spec.Type] = append(by[r.spec.Type], r.spec.Values...)
	}
	for _, rtype := range slices.Sorted(maps.Keys(by)) {
		rt, _ := rdata.ParseType(rtype)
		if rt.Single() {
			continue
		}
		add := func(set []string) {
			object := fmt.Sprintf("s%d-%d", rt, len(records))
			records = append(records, record{object: object, spec: v1alpha1.RecordSpec{DomainName: object, Type: rtype, Values: set}})
		}
		all := by[rtype]
		add(all[:min(2, len(all))])
		var set []string
		octets := 0
		for _, text := range all {
			size := sizeOf(c.T, rt, text)
			if octets += size; len(set) == 100 || octets > 60_000 {
				add(set)
				set, octets = nil, size
			}
			set = append(set, text)
		}
		add(set)
		if len(all) > 100 { // one value too many
			add(all[:101])
		}
	}
	return records
}

// makeAloneZones creates zones for a single new value, between the SOAs of a difference, and for two.
func (c *tenant) makeAloneZones(all map[rdata.Type][]value) (records []record) {
	spec := plainZone("alone.example.")
	c.makeZone("alone", spec)
	for _, rt := range listTypes() {
		for _, n := range []int{1, 2} {
			if n == 2 && *most > 0 && int(rt)%4 != int(*seed)%4 {
				continue
			}
			object := fmt.Sprintf("alone-%d-%d", rt, n)
			c.makeZone(object, plainZone(object+".alone.example."))
			filled := record{object + "-filled", object, v1alpha1.RecordSpec{DomainName: "a", Type: "TXT", Values: []string{"1", "2", "3", "4"}}}
			if len(c.writeRecords([]record{filled})) == 0 {
				c.Fatal("refused")
			}
			for i, v := range all[rt][:n] {
				records = append(records, record{fmt.Sprintf("%s-%d", object, i), object, v1alpha1.RecordSpec{DomainName: fmt.Sprintf("b%d", i), Type: rt.String(), Values: []string{v.text}}})
			}
		}
	}
	return records
}

// signZone gives a zone the maximum of DS (S12.3), with the longest digests.
func (c *tenant) signZone(object, fqdn string) {
	c.Helper()
	dnssec := v1alpha1.ZoneDNSSECStatus{FQDN: fqdn}
	for i := range int32(validation.MaxDS) {
		dnssec.DS = append(dnssec.DS, v1alpha1.DelegationSigner{KeyTag: i, Algorithm: 14, DigestType: 4, Digest: fmt.Sprintf("%096X", i)})
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"dnssec": dnssec}})
	if err == nil {
		_, err = c.KubizoneV1alpha1().Zones(namespace).Patch(c.Context(), object, kubetypes.MergePatchType, patch, metav1.PatchOptions{}, "dnssec")
	}
	if err != nil {
		c.Fatal(err)
	}
}

func (c *tenant) setGlue(addresses ...string) {
	c.Helper()
	child := must.Get(c.KubizoneV1alpha1().Zones(namespace).Get(c.Context(), "child", metav1.GetOptions{}))(c)
	child.Spec.NameServers[0].Addresses = addresses
	must.Get(c.KubizoneV1alpha1().Zones(namespace).Update(c.Context(), child, metav1.UpdateOptions{}))(c)
}

var transferred = regexp.MustCompile(`(?m)^kubizone_primary_transfers_total\{kind="([a-z_]+)",result="[a-z_]+"\} (\d+)$`)

func (c *tenant) countTransfers() (whole, differences int) {
	c.Helper()
	text := must.Get(c.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(c.Context()))(c)
	for _, found := range transferred.FindAllStringSubmatch(string(text), -1) {
		n := must.Get(strconv.Atoi(found[2]))(c)
		if found[1] == "ixfr" {
			differences += n
		} else {
			whole += n
		}
	}
	return whole, differences
}

func TestEveryServerLoadsWhatTheAPIAdmits(t *testing.T) {
	client, primary := startServer(t)
	c := &tenant{T: t, Interface: client, admitted: map[string]int{}, refused: map[string]int{}}
	samples := readSamples(t)
	all := c.valuesOf(samples)

	passing := c.makeOddZones(samples)
	single := c.writeRecords(c.spreadRecords("v", makeSingleRecords(all)))
	passing = append(passing, single...)
	passing = append(passing, c.writeRecords(c.spreadRecords("sets", c.makeRRsets(single)))...)
	passing = append(passing, c.writeRecords(c.makeAloneZones(all))...)
	for _, rt := range listTypes() {
		if c.admitted[rt.String()] == 0 {
			t.Errorf("of %s nothing was admitted, so nothing is tried", rt)
		}
	}
	c.makeZone("parent", plainZone("parent.example."))
	c.writeRecords([]record{{"parent-filled", "parent", v1alpha1.RecordSpec{DomainName: "a", Type: "TXT", Values: []string{"1", "2", "3",
		"4"}}}})
	objects := slices.Clone(c.objects)
	c.makeZone("child", v1alpha1.ZoneSpec{DomainName: "child.parent.example.", NameServers: []v1alpha1.NameServer{{Name: "ns"}}})
	c.signZone("child", "child.parent.example.")
	c.makeZone("signed", v1alpha1.ZoneSpec{DomainName: "signed.parent.example.",
		NameServers: []v1alpha1.NameServer{{Name: "ns.example.net."}}})
	c.signZone("signed", "signed.parent.example.") // and as many DS of Records as permitted beside those (S6.16)
	var ds []string
	for i := range 100 - validation.MaxDS {
		ds = append(ds, fmt.Sprintf("%d 8 2 %064X", i, i))
	}
	if beside := c.writeRecords([]record{{"ds", "parent", v1alpha1.RecordSpec{DomainName: "signed", Type: "DS", Values: ds}}}); len(
		beside) != 1 {
		t.Error("DS beside those of the child are refused")
	}
	c.objects = objects // the child is servable only while its name server has an address
	t.Logf("seed %d: %d zones, %d records that come and go; admitted by type %v; refused %v", *seed, len(c.objects), len(passing), c.admitted, c.refused)

	full := c.readSettled(false)
	for _, z := range full {
		if n := strings.Count(z.file, "\tDS\t"); z.fqdn == "parent.example." && n != 100 {
			t.Errorf("S6.16: the parent has %d DS, want 100:\n%s", n, z.file)
		}
	}
	secondaries := startSecondaries(t, primary, full)
	t.Run("AXFR", func(t *testing.T) {
		for _, j := range secondaries {
			t.Run(j.name, func(t *testing.T) { j.compareZones(t, full) })
		}
	})
	t.Run("file", func(t *testing.T) {
		// A file has no last record of a transfer.
		files := slices.DeleteFunc(slices.Clone(full), func(z held) bool { return strings.HasSuffix(z.fqdn, "."+together) })
		for _, j := range judges {
			t.Run(j.name, func(t *testing.T) {
				j := j.loadFiles(t, files)
				defer j.Close()
				j.compareZones(t, files)
			})
		}
	})
	byDifference := func(t *testing.T, state []held) {
		whole, differences := c.countTransfers()
		for _, j := range secondaries {
			t.Run(j.name, func(t *testing.T) {
				j.notifyZones(t, state)
				j.compareZones(t, state)
			})
		}
		nowWhole, now := c.countTransfers()
		if t.Logf("%d differences", now-differences); nowWhole != whole || now-differences < 4*len(state)*9/10 {
			t.Errorf("%d whole zones and %d differences were handed on, want differences alone", nowWhole-whole, now-differences)
		}
	}
	c.removeRecords(passing)
	c.setGlue("192.0.2.1", "2001:db8::1")
	empty := c.readSettled(true)
	t.Run("IXFR takes away", func(t *testing.T) { byDifference(t, empty) })

	if again := c.writeRecords(passing); len(again) != len(passing) {
		t.Errorf("%d records were admitted, and only %d the second time", len(passing), len(again))
	}
	c.setGlue()
	full = c.readSettled(false)
	t.Run("IXFR adds", func(t *testing.T) { byDifference(t, full) })
}
