// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/zonefile"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/interop/subject"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

const hosts = 2000

// growZone removes, adds and restores random rows.
func growZone(t *testing.T, serving subject.Serving, rnd *rand.Rand) *zoneview.Snapshot {
	t.Helper()
	z, ok := serving.ByUID(apex)
	if !ok {
		t.Fatal("no zone")
	}
	var removed, added []content.Row
	touched := map[name.Rel]bool{}
	for range 1 + rnd.IntN(4) {
		owner := name.MustRel(fmt.Sprintf("h%d", rnd.IntN(hosts/10)))
		if touched[owner] {
			continue
		}
		touched[owner] = true
		set, there := z.RRset(owner, rdata.A)
		if there && rnd.IntN(3) == 0 {
			for _, data := range set.Data {
				removed = append(removed, content.Row{Owner: owner, Type: rdata.A, Data: data})
			}
			continue
		}
		row := content.Row{Owner: owner, Type: rdata.A, Data: fmt.Sprintf("10.1.%d.%d", rnd.IntN(256), rnd.IntN(256))}
		added = append(added, row)
	}
	tx := content.Transaction{Steps: []content.Step{subject.Step(t, z, removed, added)}, Settled: true}
	must.Succeed(t, serving.Apply(apex, tx, zoneview.Zone{}))
	z, _ = serving.Settled(apex)
	return z
}

func listWanted(t *testing.T, z *zoneview.Snapshot) []string {
	t.Helper()
	var text strings.Builder
	must.Get(zonefile.Write(&text, z.Entries()))(t)
	want := must.Get(rig.Canonical(t.Context(), apex, text.String()))(t)
	return want
}

func TestSecondariesFollowByTheDifference(t *testing.T) {
	ctx := rig.Within(t, 2*time.Minute)
	atBIND := must.Get(rig.FreePort())(t)
	atKnot := must.Get(rig.FreePort())(t)
	serving := subject.Start(t, primary.Config{Notify: []primary.Target{{Addr: atBIND}, {Addr: atKnot}}}, subject.Zone(t, makeHosts(4294967280, hosts)))
	bind := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{Addr: atBIND, Secondaries: []rig.SecondaryZone{{Zone: apex, Primary: serving.Addr}}}))(t)
	knot := rig.NeedServer(rig.StartKnot(ctx, rig.KnotConfig{Addr: atKnot, Secondaries: []rig.SecondaryZone{{Zone: apex, Primary: serving.Addr}}}))(t)
	peers := map[string]secondary{"BIND": bind, "Knot": knot}
	z, _ := serving.Settled(apex)
	for what, peer := range peers {
		if err := peer.WaitSerial(ctx, apex, uint32(z.Serial())); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	rnd := rand.New(rand.NewPCG(1995, 1))
	// The serial wraps during the steps: single steps, then many between two queries.
	for _, steps := range []int{1, 1, 1, 3, 10, 1, 40, 100} {
		for range steps {
			z = growZone(t, serving, rnd)
		}
		want := listWanted(t, z)
		for what, peer := range peers {
			if err := peer.WaitSerial(ctx, apex, uint32(z.Serial())); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			got := must.Get(peer.Transfer(ctx, apex))(t)
			subject.SameRecords(t, got, want)
		}
	}
	// Each server transferred the whole zone only once, when new.
	sizes := regexp.MustCompile(`Transfer completed: \d+ messages, (\d+) records`).FindAllStringSubmatch(bind.Log(), -1)
	whole := 0
	for _, size := range sizes {
		if n, _ := strconv.Atoi(size[1]); n > hosts {
			whole++
		}
	}
	if whole != 1 || len(sizes) < 5 {
		t.Errorf("BIND took the whole zone %d times in %d transfers, want once; it says:\n%s", whole, len(sizes), bind.Log())
	}
	whole = len(regexp.MustCompile(`AXFR, incoming, .* started`).FindAllString(knot.Log(), -1))
	if differences := len(regexp.MustCompile(`IXFR, incoming, .* finished`).FindAllString(knot.Log(), -1)); whole != 1 || differences < 5 {
		t.Errorf("Knot took the whole zone %d times and %d differences, want one and many; it says:\n%s", whole, differences, knot.Log())
	}
}

type secondary interface {
	WaitSerial(ctx context.Context, zone string, want uint32) error
	Transfer(ctx context.Context, zone string) ([]string, error)
}

// An IXFR over UDP gets a small difference in a single packet, with two SOAs at each end. A large difference is
// answered with the SOA alone, so that the client asks again over TCP.
func TestDifferenceInOnePacket(t *testing.T) {
	serving := subject.Start(t, primary.Config{}, subject.Zone(t, makeHosts(4294967280, hosts)))
	before, _ := serving.Settled(apex)
	rnd := rand.New(rand.NewPCG(1995, 2))
	growZone(t, serving, rnd)
	ask := func(transport string) []string {
		t.Helper()
		out, err := rig.Dig{Server: serving.Addr}.Run(rig.Within(t, 20*time.Second), transport, "+tries=1", "+ignore", "+nocomments", "+nocmd", "+nostats", fmt.Sprintf("IXFR=%d", before.Serial()), apex)
		rig.SkipMissing(t, err)
		var records []string
		for line := range strings.Lines(out) {
			if strings.Contains(line, "\tIN\t") {
				records = append(records, line)
			}
		}
		return records
	}
	small := ask("+notcp")
	if len(small) < 5 || strings.Count(strings.Join(small, ""), "\tSOA\t") != 4 {
		t.Errorf("a small difference over UDP: %q", small)
	}
	for range 60 {
		growZone(t, serving, rnd)
	}
	if great := ask("+notcp"); len(great) != 1 {
		t.Errorf("a great difference over UDP: %d records, want the SOA alone", len(great))
	}
	if great := ask("+tcp"); strings.Count(strings.Join(great, ""), "\tSOA\t") != 4 || len(great) > hosts/2 {
		t.Errorf("a great difference over TCP: %d records", len(great))
	}
}

func makeHosts(serial uint32, hosts int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "example.org. 300 IN SOA ns.example.org. host.example.org. %d 86400 7200 3600000 300\n", serial)
	b.WriteString("example.org. 300 IN NS ns.example.org.\nns.example.org. 300 IN A 192.0.2.1\n")
	for i := range hosts {
		fmt.Fprintf(&b, "h%d.example.org. 300 IN A 10.0.%d.%d\n", i, i>>8, i&255)
	}
	return b.String()
}

// BIND follows changes by signed NOTIFY and IXFR within a second. It has exactly the new zone after most records were
// removed, after the serial wraps past 2^32, and when no records are left but those of the zone itself.
func TestBINDFollowsByIXFR(t *testing.T) {
	ctx := rig.Within(t, 3*time.Minute)
	at := must.Get(rig.FreePort())(t)
	serving := subject.Start(t, primary.Config{Keys: subject.Keys(t, key.Statement()), Notify: []primary.Target{{Addr: at, Key: key.Name}}},
		subject.Zone(t, makeHosts(4294967294, 3000)))
	bind := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{Addr: at, Keys: []rig.TSIGKey{key},
		Secondaries: []rig.SecondaryZone{{Zone: "example.org.", Primary: serving.Addr, Key: key.Name}}}))(t)
	must.Succeed(t, bind.WaitSerial(ctx, "example.org.", 4294967294))
	least := time.Hour // the best of several times: a machine busy with other tests is sometimes late
	for _, step := range []struct {
		serial uint32
		hosts  int
	}{{4294967295, 10}, {1, 2000}, {2, 0}, {3, 1}} {
		text := makeHosts(step.serial, step.hosts)
		begin := time.Now()
		serving.Put(subject.Zone(t, text), true)
		must.Succeed(t, bind.WaitSerial(ctx, "example.org.", step.serial))
		least = min(least, time.Since(begin))
		got := must.Get(bind.Transfer(ctx, "example.org."))(t)
		want := must.Get(rig.Canonical(ctx, "example.org.", text))(t)
		subject.SameRecords(t, got, want)
	}
	if least > time.Second {
		t.Errorf("BIND has a new serial after %s at the earliest", least)
	}
}
