// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	mdns "github.com/miekg/dns"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/bench/figures"
	"kubi.zone/kubizone/test/rig"
)

// Kubizone to two secondaries, Knot to the same by signed dynamic update, a webhook, and Kubizone by signed dynamic
// update.
const (
	toKnot      = "kubizone → Knot"
	toBIND      = "kubizone → BIND"
	knotToKnot  = "Knot → Knot"
	knotToBIND  = "Knot → BIND"
	toWebhook   = "kubizone → webhook"
	updateBIND  = "update → kubizone → BIND"
	atOnce      = "lone"
	atRate      = "steady"
	pooled      = "all rounds"
	changeLabel = "change/"
)

var pairs = [][2]string{{toKnot, knotToKnot}, {toBIND, knotToBIND}, {updateBIND, knotToBIND}}

// The secondaries' keys by class; ownKey is an UpdateKey's.
var (
	knotKey = rig.TSIGKey{Name: "knot.key", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
	ownKey  = rig.TSIGKey{Name: "own.default", Algorithm: "hmac-sha256", Secret: "YSB0aGlyZCBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3Q="}
	bindKey = rig.TSIGKey{Name: "bind.key", Algorithm: "hmac-sha256", Secret: "YW5vdGhlciBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3Q="}
)

var zoneOf = map[string]string{toKnot: "a", toBIND: "b", knotToKnot: "c", knotToBIND: "d", toWebhook: "e", updateBIND: "f"}

func domainOf(label string) string { return label + ".bench.example." }

func (s *stage) measureChanges(ctx context.Context, into *figures.Results) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	var polling sync.WaitGroup
	defer polling.Wait()
	defer cancel()
	u, err := s.startServer(ctx, "changes", "--transfer-allow", "")
	if err != nil {
		return err
	}
	defer u.stop()
	sink := newSink()
	defer sink.Close()

	var ports [3]netip.AddrPort
	for i := range ports {
		if ports[i], err = rig.FreePort(); err != nil {
			return err
		}
	}
	bindAt, knotAt, masterAt := ports[0], ports[1], ports[2]
	for _, c := range []struct {
		name string
		key  *rig.TSIGKey
		spec v1alpha1.DNSClassSpec
	}{
		{toKnot, &knotKey, v1alpha1.DNSClassSpec{Transfer: &v1alpha1.TransferProvider{Secondaries: []v1alpha1.Secondary{{Address: knotAt.String()}}}}},
		{toBIND, &bindKey, v1alpha1.DNSClassSpec{Transfer: &v1alpha1.TransferProvider{Secondaries: []v1alpha1.Secondary{{Address: bindAt.String()}}}}},
		// The default of 50 requests a second would limit the result.
		{toWebhook, nil, v1alpha1.DNSClassSpec{RequestsPerSecond: ptr.To[int32](10_000), Webhook: &v1alpha1.WebhookProvider{Server: sink.URL}}},
	} {
		if c.key != nil {
			if c.spec.Transfer.TSIGSecretRef, err = u.writeKey("dns", *c.key); err != nil {
				return err
			}
		}
		label := zoneOf[c.name]
		if err := u.makeClass(ctx, label, c.spec); err != nil {
			return err
		}
		if err := u.makeZone(ctx, label, domainOf(label), label); err != nil {
			return err
		}
		if err := u.fillZone(ctx, label, s.plan.Zone); err != nil {
			return err
		}
	}

	if err := u.makeUpdated(ctx, zoneOf[updateBIND], zoneOf[toBIND]); err != nil {
		return err
	}
	if _, _, err := figures.Callers(ctx, fillers, s.plan.Zone, func(ctx context.Context, i int) error {
		return updateHost(ctx, u.dns, ownKey, domainOf(zoneOf[updateBIND]), nameHost(i), makeAddress(0, i))
	}); err != nil {
		return err
	}

	const workers = 4
	master, err := rig.StartKnot(ctx, rig.KnotConfig{
		Addr: masterAt, Key: &knotKey, Workers: workers, Template: journalOnly,
		Zones: []rig.PrimaryZone{
			{Zone: domainOf(zoneOf[knotToKnot]), Text: masterFile(domainOf(zoneOf[knotToKnot]), s.plan.Zone), UpdateKey: knotKey.Name},
			{Zone: domainOf(zoneOf[knotToBIND]), Text: masterFile(domainOf(zoneOf[knotToBIND]), s.plan.Zone), UpdateKey: knotKey.Name},
		},
		Notify: map[string]netip.AddrPort{domainOf(zoneOf[knotToKnot]): knotAt, domainOf(zoneOf[knotToBIND]): bindAt},
	})
	if err != nil {
		return err
	}
	defer master.Close()
	knot, err := rig.StartKnot(ctx, rig.KnotConfig{
		Addr: knotAt, Key: &knotKey, Workers: workers, Template: journalOnly, Primary: []string{"block-notify-after-transfer: on"},
		Secondaries: []rig.SecondaryZone{
			{Zone: domainOf(zoneOf[toKnot]), Primary: u.dns, Key: knotKey.Name}, {Zone: domainOf(zoneOf[knotToKnot]), Primary: masterAt,
				Key: knotKey.Name},
		},
	})
	if err != nil {
		return err
	}
	defer knot.Close()
	bind, err := rig.StartBIND(ctx, rig.BINDConfig{
		Addr: bindAt, Keys: []rig.TSIGKey{knotKey, bindKey}, Options: "serial-query-rate 1000;",
		Secondaries: []rig.SecondaryZone{
			{Zone: domainOf(zoneOf[toBIND]), Primary: u.dns, Key: bindKey.Name}, {Zone: domainOf(zoneOf[knotToBIND]), Primary: masterAt,
				Key: knotKey.Name},
			{Zone: domainOf(zoneOf[updateBIND]), Primary: u.dns, Key: bindKey.Name},
		},
	})
	if err != nil {
		return err
	}
	defer bind.Close()

	var arms []*arm
	failed := make(chan error, 5)
	for _, name := range []string{toKnot, toBIND, knotToKnot, knotToBIND, updateBIND} {
		at := map[string]netip.AddrPort{toKnot: knotAt, toBIND: bindAt, knotToKnot: knotAt, knotToBIND: bindAt, updateBIND: bindAt}[name]
		a := &arm{name: name, came: newArrivals(), change: func(ctx context.Context, i int, data string) error {
			return u.changeRecord(ctx,
				zoneOf[name], i, data)
		}}
		if name == knotToKnot || name == knotToBIND {
			a.change = func(ctx context.Context, i int, data string) error {
				return updateHost(ctx, masterAt, knotKey, domainOf(zoneOf[name]), nameHost(i), data)
			}
		}
		if name == updateBIND {
			a.change = func(ctx context.Context, i int, data string) error {
				return updateHost(ctx, u.dns, ownKey, domainOf(zoneOf[name]), nameHost(i), data)
			}
		}
		arms = append(arms, a)
		polling.Go(func() {
			if err := pollServer(ctx, at, domainOf(zoneOf[name]), a.came); err != nil {
				failed <- fmt.Errorf("%s: %w", name, err)
				cancel()
			}
		})
	}
	hook := &arm{name: toWebhook, came: sink.came, change: func(ctx context.Context, i int, data string) error {
		return u.changeRecord(ctx, zoneOf[toWebhook], i, data)
	}}
	arms = append(arms, hook)
	if err := s.runRounds(ctx, arms, into); err != nil {
		select {
		case broken := <-failed:
			return errors.Join(err, broken)
		default:
			return fmt.Errorf("%w\nBIND says:\n%.3000s\nKnot says:\n%.3000s", err, keepLastOctets(bind.Log()), keepLastOctets(knot.Log()))
		}
	}
	return nil
}

func keepLastOctets(text string) string { return text[max(0, len(text)-3000):] }

// journalOnly turns off Knot's zone files: Knot syncs the journal, as etcd its log.
var journalOnly = []string{"zonefile-sync: -1"}

func (s *stage) runRounds(ctx context.Context, arms []*arm, into *figures.Results) error {
	if _, err := changeAllSingly(ctx, arms, s.plan.Zone, 2); err != nil {
		return err
	}
	began := time.Now()
	elapsed := map[string][]time.Duration{}
	for round := range s.plan.Rounds {
		if round >= fewestRounds && time.Since(began) > s.plan.Time {
			s.printf("no time for more than %d rounds", round)
			break
		}
		s.printf("round %d of %d, load %s", round+1, s.plan.Rounds, figures.LoadAverage())
		into.Header.Rounds++
		got := map[string]sample{}
		lone, err := changeAllSingly(ctx, arms, s.plan.Zone, s.plan.Lone)
		if err != nil {
			return err
		}
		for i, a := range arms {
			got[a.name+"/"+atOnce] = lone[i]
		}
		for i := range arms {
			a := arms[(i+round)%len(arms)]
			if got[a.name+"/"+atRate], err = a.changeSteadily(ctx, s.plan.Zone, s.plan.Steady, s.plan.Rate); err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
		}
		for _, a := range arms {
			for _, load := range []string{atOnce, atRate} {
				name := a.name + "/" + load
				for _, of := range quantiles {
					into.Add(changeLabel+name+"/"+of.name, "ms", got[name].computeQuantile(of.q))
				}
				elapsed[name] = append(elapsed[name], got[name].elapsed...)
			}
		}
		for _, pair := range pairs {
			for _, load := range []string{atOnce, atRate} {
				for _, of := range quantiles {
					over, under := got[pair[0]+"/"+load].computeQuantile(of.q), got[pair[1]+"/"+load].computeQuantile(of.q)
					into.Add(changeLabel+pair[0]+" ÷ "+pair[1]+"/"+load+"/"+of.name, "×", over/under)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(elapsed)) {
		into.Add(changeLabel+name+"/p99/"+pooled, "ms", sample{elapsed[name]}.computeQuantile(0.99))
	}
	return nil
}

func masterFile(zone string, records int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%[1]s 3600 IN SOA ns.example.net. hostmaster.example.net. 1 86400 7200 3600000 360\n%[1]s 3600 IN NS ns.example.net.\n", zone)
	for i := range records {
		fmt.Fprintf(&text, "%s.%s 3600 IN A %s\n", nameHost(i), zone, makeAddress(0, i))
	}
	return text.String()
}

func updateHost(ctx context.Context, server netip.AddrPort, key rig.TSIGKey, zone, host, data string) error {
	rr, err := mdns.NewRR(host + "." + zone + " 3600 IN A " + data)
	if err != nil {
		return err
	}
	m := new(mdns.Msg)
	m.SetUpdate(zone)
	m.RemoveRRset([]mdns.RR{rr})
	m.Insert([]mdns.RR{rr})
	return sendUpdate(ctx, server, key, m)
}

func sendUpdate(ctx context.Context, server netip.AddrPort, key rig.TSIGKey, m *mdns.Msg) error {
	m.SetTsig(mdns.Fqdn(key.Name), mdns.HmacSHA256, 300, time.Now().Unix())
	client := &mdns.Client{Timeout: waitTimeout, TsigSecret: map[string]string{mdns.Fqdn(key.Name): key.Secret}}
	answer, _, err := client.ExchangeContext(ctx, m, server.String())
	if err != nil {
		return fmt.Errorf("update of %s: %w", m.Question[0].Name, err)
	}
	if answer.Rcode != mdns.RcodeSuccess {
		return fmt.Errorf("update of %s: %s", m.Question[0].Name, mdns.RcodeToString[answer.Rcode])
	}
	return nil
}
