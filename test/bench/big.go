// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	mdns "github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/pki"
	"kubi.zone/kubizone/pkg/zoneview"
	"kubi.zone/kubizone/test/bench/figures"
	"kubi.zone/kubizone/test/store"
)

// settledZone makes a zone like example by a ledger in this process, and carries out what that owes.
func settledZone(ctx context.Context, server *store.Server, example *v1alpha1.Zone) error {
	object := example.Name
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("zone %s did not settle within a minute", object))
	done := make(chan error, 1)
	go func() { done <- server.Ledger.Run(ctx) }()
	defer func() { cancel(); <-done }()
	z := store.Zone(zoneNamespace, object, example.Spec.DomainName)
	z.Spec, z.ManagedFields = example.Spec, example.ManagedFields
	z, err := server.CreateZone(z)
	for err == nil && !meta.IsStatusConditionTrue(z.Status.Conditions, v1alpha1.ConditionSettled) {
		select {
		case <-time.After(10 * time.Millisecond):
			err = server.Zones.Get(ctx, store.Key("zones", zoneNamespace, object), storage.GetOptions{}, z)
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return err
}

// fill puts n Records like example into a zone, by a second ledger over the same etcd: HTTP would only take longer.
func fill(ctx context.Context, endpoint, domain, label string, n int, example *v1alpha1.Record) error {
	client, err := dial(endpoint) // open until this process ends: store's servers follow etcd as long
	if err != nil {
		return err
	}
	ctx = genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: pki.AdminUser})
	server, err := store.NewServer(ctx, client, apiserver.Prefix)
	if err != nil {
		return err
	}
	_, _, err = figures.Callers(ctx, 16, n, func(ctx context.Context, i int) error {
		o := example.DeepCopy()
		o.Name, o.UID, o.ResourceVersion, o.Labels, o.Status = fmt.Sprintf("%s-%06d", label, i), types.UID(uuid.NewUUID()), "", nil, v1alpha1.RecordStatus{}
		o.Spec.DomainName, o.Spec.Values = o.Name+"."+domain, []string{address(12, i)}
		_, err := server.CreateRecord(ctx, o)
		return err
	})
	return err
}

// big measures what a zone of many Records costs.
type big struct {
	backend *backend
	records int
	writes  int // of a lone caller, at once
	// example is a Record as the API stores it.
	example *v1alpha1.Record
	into    *figures.Results
	say     func(format string, args ...any)
}

const (
	bigZone, smallZone     = "big", "small"
	bigDomain, smallDomain = "big.example.", "small.example."
	smallRecords           = 10
)

func (b *big) run(ctx context.Context, rounds int) error {
	for object, domain := range map[string]string{bigZone: bigDomain, smallZone: smallDomain} {
		if err := b.backend.zone(ctx, object, domain); err != nil {
			return err
		}
	}
	if err := fill(ctx, b.backend.etcd.Etcd, smallDomain, "s", smallRecords, b.example); err != nil {
		return err
	}
	before, err := b.backend.server.settledHeap(ctx)
	if err != nil {
		return err
	}
	storedBefore, err := b.backend.etcd.log(ctx)
	if err != nil {
		return err
	}
	b.say("filling a zone with %d records", b.records)
	began := time.Now()
	if err := fill(ctx, b.backend.etcd.Etcd, bigDomain, "b", b.records, b.example); err != nil {
		return err
	}
	b.into.Add("fill/rate", "records/s", float64(b.records)/time.Since(began).Seconds())
	if err := b.backend.settled(ctx, bigZone); err != nil {
		return err
	}
	if err := b.size(ctx, rounds); err != nil {
		return err
	}
	after, err := b.backend.server.settledHeap(ctx)
	if err != nil {
		return err
	}
	stored, err := b.backend.etcd.log(ctx)
	if err != nil {
		return err
	}
	each := float64(b.records)
	b.into.Add("memory/server/record", "B", (float64(after)-float64(before))/each)
	b.into.Add("etcd/stored/record", "B", stored.minus(storedBefore).stored/each)
	if err := b.view(ctx); err != nil {
		return err
	}
	return b.read(ctx, rounds)
}

// size compares writes of a lone caller in the big zone and in the small one, in turn.
func (b *big) size(ctx context.Context, rounds int) error {
	arms, letter := map[string]*arm{}, map[string]string{bigZone: "v", smallZone: "w"}
	for object, domain := range map[string]string{bigZone: bigDomain, smallZone: smallDomain} {
		arms[object] = &arm{name: object, server: b.backend.server, etcd: b.backend.etcd, batch: b.backend.batch([]string{domain})}
	}
	for round := range rounds + 1 {
		order := []string{smallZone, bigZone}
		if round%2 == 1 {
			slices.Reverse(order)
		}
		got := map[string]map[string]sample{}
		for _, object := range order {
			samples, err := arms[object].round(ctx, fmt.Sprintf("%s%02d-siz", letter[object], round), 1, b.writes)
			if err != nil {
				return err
			}
			got[object] = samples
		}
		if round == 0 {
			continue // the first meets cold heads and indexes
		}
		for _, op := range operations {
			for object, samples := range got {
				b.into.Add("size/"+op+"/"+object+"/p50", "ms", samples[op].p50)
				b.into.Add("size/"+op+"/"+object+"/cpu", "µs", samples[op].cpu)
			}
			b.into.Add("size/"+op+"/ratio", "×", got[bigZone][op].p50/got[smallZone][op].p50)
			b.into.Add("size/"+op+"/ratio/cpu", "×", got[bigZone][op].cpu/got[smallZone][op].cpu)
		}
	}
	return nil
}

// collector keeps one zone of those that a ledger follows.
type collector struct {
	object   string
	snapshot *zoneview.Snapshot
	ready    func()
}

func (c *collector) Reset()                            {}
func (c *collector) Ready()                            { c.ready() }
func (c *collector) Apply(string, content.Transaction) {}
func (c *collector) Unreadable(_, _ string, err error) { panic(err) }
func (c *collector) Base(base ledger.Base) {
	if base.Identity.Name == c.object {
		zone := zoneview.Zone{UID: base.Zone.UID, Namespace: base.Identity.Namespace, Name: base.Identity.Name}
		c.snapshot = zoneview.NewSnapshot(zone, base.Zone.Header, base.Zone.Serial, base.Zone.N, base.Zone.State, slices.Values(base.Sets))
	}
}

// view builds the zone's view alone, in this process, and weighs it.
func (b *big) view(ctx context.Context) error {
	client, err := dial(b.backend.etcd.Etcd)
	if err != nil {
		return err
	}
	server, err := store.NewServer(ctx, client, apiserver.Prefix)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	collect()
	before := count().HeapBytes
	c := &collector{object: bigZone, ready: cancel}
	if err := server.Ledger.Follow(ctx, c); err != nil {
		return err
	}
	if c.snapshot == nil {
		return fmt.Errorf("the ledger does not know zone %s", bigZone)
	}
	collect()
	b.into.Add("memory/view/record", "B", (float64(count().HeapBytes)-float64(before))/float64(c.snapshot.Len()))
	runtime.KeepAlive(c)
	return nil
}

// read streams the whole zone, a form in turn, and looks at time, size and how the server's memory peaks.
func (b *big) read(ctx context.Context, rounds int) error {
	client, err := rest.HTTPClientFor(b.backend.config)
	if err != nil {
		return err
	}
	zone, err := b.backend.client.KubizoneV1alpha1().Zones(zoneNamespace).Get(ctx, bigZone, metav1.GetOptions{})
	if err != nil {
		return err
	}
	entries := func(format string) func() (int64, error) {
		return func() (int64, error) {
			return stream(ctx, client, b.backend.server.API+"/apis/kubi.zone/v1alpha1/namespaces/"+zoneNamespace+"/zones/"+bigZone+"/entries?format="+format)
		}
	}
	forms := []struct {
		name string
		do   func() (int64, error)
	}{
		{"json", entries("json")}, {"text", entries("text")},
		{"axfr", func() (int64, error) { return transfer(ctx, b.backend.server.DNS, bigDomain, zone.Status.EntryCount) }},
	}
	for range rounds {
		for _, f := range forms {
			if _, err := b.backend.server.ask(ctx, "/collect", ""); err != nil {
				return err
			}
			if err := b.backend.server.forgetPeak(); err != nil {
				return err
			}
			resident, err := figures.Resident(b.backend.server.pid, "VmRSS")
			if err != nil {
				return err
			}
			began := time.Now()
			n, err := f.do()
			if err != nil {
				return fmt.Errorf("reading %s of %d records: %w", f.name, b.records, err)
			}
			took := time.Since(began)
			peak, err := figures.Resident(b.backend.server.pid, "VmHWM")
			if err != nil {
				return err
			}
			b.into.Add("read/"+f.name+"/time", "ms", took.Seconds()*1e3)
			b.into.Add("read/"+f.name+"/speed", "MB/s", float64(n)/1e6/took.Seconds())
			b.into.Add("read/"+f.name+"/size", "MB", float64(n)/1e6)
			b.into.Add("read/"+f.name+"/peak", "MB", (float64(peak)-float64(resident))/1e6)
		}
	}
	return nil
}

// stream reads an answer to its end and counts its bytes.
func stream(ctx context.Context, client *http.Client, address string) (int64, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	a, err := client.Do(q)
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(a.Body, 1<<10))
		return 0, fmt.Errorf("%s: %s", a.Status, strings.TrimSpace(string(text)))
	}
	return io.Copy(io.Discard, a.Body)
}

// transfer asks for a zone by AXFR and reads messages until it has all entries and the closing SOA (RFC 5936 §2.2). It
// counts answers in the headers and parses nothing: the client must not be what is measured.
func transfer(ctx context.Context, server, domain string, entries int64) (int64, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", server)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Minute))
	q := new(mdns.Msg)
	q.SetAxfr(domain)
	wire, err := q.Pack()
	if err != nil {
		return 0, err
	}
	if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(wire))), wire...)); err != nil {
		return 0, err
	}
	var octets, answers int64
	message := make([]byte, 1<<16)
	for answers < entries+1 {
		if _, err := io.ReadFull(conn, message[:2]); err != nil {
			return 0, fmt.Errorf("after %d of %d answers: %w", answers, entries+1, err)
		}
		m := message[:binary.BigEndian.Uint16(message)]
		if _, err := io.ReadFull(conn, m); err != nil {
			return 0, fmt.Errorf("after %d of %d answers: %w", answers, entries+1, err)
		}
		if len(m) < 12 || m[3]&0xf != mdns.RcodeSuccess {
			return 0, fmt.Errorf("after %d of %d answers: a message of %d octets with another code than NOERROR", answers, entries+1, len(m))
		}
		octets += int64(len(m)) + 2
		answers += int64(binary.BigEndian.Uint16(m[6:]))
	}
	return octets, nil
}
