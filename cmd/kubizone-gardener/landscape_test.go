// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	gardenlet "github.com/gardener/gardener/pkg/component/extensions/dnsrecord"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// As gardenlet's concurrentSyncs.
const gardenlets = 20

// The long form has the numbers of a real landscape.
func landscapeSize() (shoots, migrated int) {
	if os.Getenv("KUBIZONE_TEST_LONG") != "" {
		return 1000, 200
	}
	return 5, 2
}

func (h *shoot) makeShootValues(shoot int, address string) []*gardenlet.Values {
	domain := fmt.Sprintf("s%d.landscape.example", shoot)
	var all []*gardenlet.Values
	for _, one := range []struct {
		name, dns, value string
		of               extensionsv1alpha1.DNSRecordType
	}{
		{"internal", "api.internal." + domain, address, "A"},
		{"external", "api." + domain, "api.internal." + domain, "CNAME"},
		{"ingress", "*.ingress." + domain, address, "A"},
		{"owner", "owner." + domain, "seed", "TXT"},
	} {
		all = append(all, &gardenlet.Values{
			Namespace: h.ns, Name: fmt.Sprintf("s%d-%s", shoot, one.name), SecretName: fmt.Sprintf("dnsrecord-s%d-%s", shoot, one.name), Type: recordType,
			DNSName: one.dns, RecordType: one.of, Values: []string{one.value}, AnnotateOperation: true,
		})
	}
	return all
}

// forEach runs f with gardenlet's concurrency, and returns the time of each.
func forEach(t *testing.T, shoots []int, f func(shoot int) error) (each []time.Duration) {
	t.Helper()
	each = make([]time.Duration, len(shoots))
	var all errgroup.Group
	all.SetLimit(gardenlets)
	for i, shoot := range shoots {
		all.Go(func() error {
			started := time.Now()
			err := f(shoot)
			each[i] = time.Since(started)
			return err
		})
	}
	mustSucceed(t, all.Wait())
	slices.Sort(each)
	return each
}

// Leaves the CPU to the servers.
const askInterval = 2 * time.Millisecond

type asker struct {
	resolver *net.Resolver
	end      context.CancelFunc
	ended    chan struct{}

	answers    int
	unanswered []string
}

func newAsker(server string) *asker {
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server)
	}
	return &asker{resolver: &net.Resolver{PreferGo: true, Dial: dial}, ended: make(chan struct{})}
}

func (a *asker) resolveName(ctx context.Context, name string) error {
	_, err := a.resolver.LookupNetIP(ctx, "ip4", name)
	return err
}

func (a *asker) startAsking(names []string) {
	ctx, cancel := context.WithCancel(context.Background())
	a.end = cancel
	go func() {
		defer close(a.ended)
		tick := time.NewTicker(askInterval)
		defer tick.Stop()
		for {
			for _, name := range names {
				<-tick.C
				err := a.resolveName(ctx, name)
				if ctx.Err() != nil {
					return
				}
				if a.answers++; err != nil {
					a.unanswered = append(a.unanswered, err.Error())
				}
			}
		}
	}()
}

func (a *asker) stop() {
	a.end()
	<-a.ended
}

// gardenlet accepts every DNSRecord of a landscape, a reconciliation without a change writes no Record, concurrent
// migrations change nothing in the zone, a restart of Kubizone loses no change, and a secondary always answers for
// every name.
func TestLandscape(t *testing.T) {
	from, to := requireSeed(t, &first), requireSeed(t, &second)
	from.startController(t)
	to.startController(t)
	from.makeZone(t, "landscape.example", landscape)
	// All shoots share a namespace, which saves 1,000 namespaces.
	source := (&shoot{t: t, seed: from, ns: "shoot--test--landscape"}).inSeed(from)
	target := source.inSeed(to)
	size, migrated := landscapeSize()
	var all []int
	for i := range size {
		all = append(all, i)
	}
	zone := func() *v1alpha1.Zone {
		t.Helper()
		zone := mustGet(from.kubizone.KubizoneV1alpha1().Zones("platform").Get(t.Context(), "landscape-example", metav1.GetOptions{}))(t)
		return zone
	}
	deploy := func(h *shoot, address string) func(int) error {
		return func(shoot int) error {
			var names errgroup.Group
			for _, values := range h.makeShootValues(shoot, address) {
				names.Go(func() error {
					c := h.makeComponent(values)
					if err := c.Deploy(t.Context()); err != nil {
						return err
					}
					return c.Wait(t.Context())
				})
			}
			return names.Wait()
		}
	}
	phase := func(what string, shoots []int, f func(int) error) {
		t.Helper()
		before, started := zone().Status.ContentGeneration, time.Now()
		each := forEach(t, shoots, f)
		t.Logf("%s: %d shoots in %s, one in %s (median), %s (p99); %d changes of the zone", what, len(shoots), time.Since(started).Round(time.Millisecond),
			each[len(each)/2].Round(time.Millisecond), each[len(each)*99/100].Round(time.Millisecond), zone().Status.ContentGeneration-before)
	}

	phase("created", all, deploy(source, "192.0.2.1"))
	if got, want := zone().Status.EntryCount, int64(4*size+3); got != want { // with SOA, NS and its address
		t.Errorf("the zone has %d entries, want %d", got, want)
	}

	// A shoot's names with addresses: A, CNAME and wildcard.
	var names []string
	for _, shoot := range all {
		for _, values := range source.makeShootValues(shoot, "")[:3] {
			names = append(names, strings.Replace(values.DNSName, "*", "any", 1)+".")
		}
	}
	secondary := newAsker(from.executeCommand(t, "secondary landscape.example."))
	for _, name := range names {
		waitUntil(t, func() error { return secondary.resolveName(t.Context(), name) })
	}
	secondary.startAsking(names)
	t.Cleanup(secondary.stop)

	before := zone()
	phase("reconciled without a change", all, deploy(source, "192.0.2.1"))
	phase("migrated", all[:migrated], func(shoot int) error {
		for _, values := range source.makeShootValues(shoot, "192.0.2.1") {
			c := source.makeComponent(values)
			if err := c.Migrate(t.Context()); err != nil {
				return err
			}
			if err := c.WaitMigrate(t.Context()); err != nil {
				return err
			}
			if err := c.Destroy(t.Context()); err != nil {
				return err
			}
			if err := c.WaitCleanup(t.Context()); err != nil {
				return err
			}
			c = target.makeComponent(values)
			if err := c.Restore(t.Context(), &gardencorev1beta1.ShootState{}); err != nil {
				return err
			}
			if err := c.Wait(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	if after := zone(); after.Status.Serial != before.Status.Serial || after.Status.Hash != before.Status.Hash {
		t.Errorf("the zone had serial %d and has %d: a reconciliation without a change, or a migration, wrote into it", before.Status.Serial, after.Status.Serial)
	}

	// gardenlet would give up while Kubizone is away, and retry later; here the wait retries.
	left := all[migrated:]
	var changes errgroup.Group
	changes.Go(func() error {
		for _, shoot := range left {
			for _, values := range source.makeShootValues(shoot, "198.51.100.1") {
				if err := source.makeComponent(values).Deploy(t.Context()); err != nil {
					return err
				}
			}
		}
		return nil
	})
	from.executeCommand(t, "stop")
	from.executeCommand(t, "start")
	started := time.Now()
	mustSucceed(t, changes.Wait())
	for _, shoot := range left {
		for _, values := range source.makeShootValues(shoot, "198.51.100.1") {
			source.waitFor(values, isHealthy)
			if record := source.findRecord(values); values.RecordType == "A" && !slices.Equal(record.Spec.Values, values.Values) {
				t.Errorf("%s has %v", values.DNSName, record.Spec.Values)
			}
		}
	}
	t.Logf("after a restart in the middle of changes: %d shoots in %s", len(left), time.Since(started).Round(time.Millisecond))
	secondary.stop()
	t.Logf("a secondary was asked %d times", secondary.answers)
	if secondary.answers == 0 || len(secondary.unanswered) > 0 {
		t.Errorf("of %d questions %d had no answer: %.10q", secondary.answers, len(secondary.unanswered), secondary.unanswered)
	}
}
