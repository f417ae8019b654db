// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	mdns "github.com/miekg/dns"
	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/bench/figures"
)

const (
	byApply   = "apply"          // server-side apply of a Record
	byMessage = "message"        // DNS UPDATE of an RRset
	byLease   = "message, lease" // a DHCP server's UPDATE: the name not in use, an address and a DHCID
)

const (
	quietAlone  = "quiet, alone"
	quietBeside = "quiet, beside a flood"
)

const (
	quietNamespace = "quiet"
	quietRate      = 50
	floodRate      = 200
)

func (u *server) makeUpdated(ctx context.Context, object string, classes ...string) error {
	if err := u.makeZone(ctx, object, domainOf(object), classes...); err != nil {
		return err
	}
	if _, err := u.writeKey(namespace, ownKey); err != nil {
		return err
	}
	key := &v1alpha1.UpdateKey{ObjectMeta: metav1.ObjectMeta{Name: object}, Spec: v1alpha1.UpdateKeySpec{
		TSIGSecretRef: v1alpha1.UpdateKeySecret{Name: ownKey.Name},
		Records:       []v1alpha1.UpdateKeyRecords{{Pattern: "*." + domainOf(object), Types: []string{"A", "DHCID"}}},
	}}
	if _, err := u.api.UpdateKeys(namespace).Create(ctx, key, metav1.CreateOptions{}); err != nil {
		return err
	}
	return waitUntil(ctx, "UpdateKey "+object+" served", func() (bool, error) {
		key, err := u.api.UpdateKeys(namespace).Get(ctx, object, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, c := range key.Status.Conditions {
			if c.Type == "Ready" && c.Status == metav1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
}

// callers is a namespace's maximum in flight and waiting (S13.9).
const callers = 64

func (s *stage) measureUpdates(ctx context.Context, into *figures.Results) error {
	u, err := s.startServer(ctx, "updates")
	if err != nil {
		return err
	}
	defer u.stop()
	const object = "u"
	if err := u.makeUpdated(ctx, object); err != nil {
		return err
	}
	quiet := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: quietNamespace}, Spec: v1alpha1.ZoneSpec{
		DomainName: quietNamespace + ".example.", NameServers: []v1alpha1.NameServer{{Name: "ns.example.net."}},
		Delegations: []v1alpha1.DelegationRule{{Namespace: quietNamespace, Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}}}
	if _, err := u.api.Zones(quietNamespace).Create(ctx, quiet, metav1.CreateOptions{}); err != nil {
		return err
	}
	made := 0
	write := map[string]func(ctx context.Context, host string) error{
		byApply: func(ctx context.Context, host string) error {
			return u.applyRecord(ctx, object+"-"+host, host+"."+domainOf(object))
		},
		byMessage: func(ctx context.Context, host string) error {
			return sendUpdate(ctx, u.dns, ownKey, makeUpdate(host, false))
		},
		byLease: func(ctx context.Context, host string) error {
			return sendUpdate(ctx, u.dns, ownKey, makeUpdate(host, true))
		},
	}
	arms := []string{byApply, byMessage, byLease}
	for round := range s.plan.Rounds {
		spent := map[string]float64{}
		for i := range arms {
			name := arms[(i+round)%len(arms)]
			first := made
			made += s.plan.Writes
			before, err := figures.CPU(u.command.Process.Pid)
			if err != nil {
				return err
			}
			elapsed, all, err := figures.Callers(ctx, callers, s.plan.Writes, func(ctx context.Context, i int) error {
				return write[name](ctx, "h"+strconv.Itoa(first+i))
			})
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			after, err := figures.CPU(u.command.Process.Pid)
			if err != nil {
				return err
			}
			spent[name] = float64((after - before).Microseconds()) / float64(s.plan.Writes)
			into.Add("write/"+name+"/cpu", "µs", spent[name])
			into.Add("write/"+name+"/rate", "1/s", float64(s.plan.Writes)/all.Seconds())
			into.Add("write/"+name+"/p50", "ms", figures.Quantile(elapsed, 0.5))
			into.Add("write/"+name+"/p99", "ms", figures.Quantile(elapsed, 0.99))
		}
		for _, name := range []string{byMessage, byLease} {
			into.Add("write/"+name+" ÷ "+byApply+"/cpu", "×", spent[name]/spent[byApply])
		}
		if err := u.measureFlood(ctx, s.plan.Writes/10, round, write[byMessage], into); err != nil {
			return err
		}
	}
	return nil
}

// measureFlood compares a tenant's writes alone and beside another's floodRate messages a second.
func (u *server) measureFlood(ctx context.Context, writes, round int, send func(ctx context.Context, host string) error,
	into *figures.Results) error {
	p99 := map[string]float64{}
	arms := []string{quietAlone, quietBeside}
	for i := range arms {
		name := arms[(i+round)%len(arms)]
		var flood sync.WaitGroup
		flooding, stop := context.WithCancel(ctx)
		if name == quietBeside {
			pace := rate.NewLimiter(floodRate, 1)
			for i := range callers {
				flood.Go(func() {
					for n := 0; pace.Wait(flooding) == nil; n++ {
						_ = send(flooding, fmt.Sprintf("f%d-%d-%d", round, i, n)) // the tenant may get SERVFAIL
					}
				})
			}
		}
		pace := rate.NewLimiter(quietRate, 1)
		elapsed := make([]time.Duration, writes)
		var err error
		for i := range elapsed {
			if err = pace.Wait(ctx); err != nil {
				break
			}
			record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("q%d-%d-%d", round, len(name), i)},
				Spec: v1alpha1.RecordSpec{Type: "A", RData: "192.0.2.1"}}
			record.Spec.DomainName = record.Name + "." + quietNamespace + ".example."
			began := time.Now()
			if _, err = u.api.Records(quietNamespace).Create(ctx, record, metav1.CreateOptions{}); err != nil {
				break
			}
			elapsed[i] = time.Since(began)
		}
		stop()
		flood.Wait()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		p99[name] = figures.Quantile(elapsed, 0.99)
		into.Add("write/"+name+"/p50", "ms", figures.Quantile(elapsed, 0.5))
		into.Add("write/"+name+"/p99", "ms", p99[name])
	}
	into.Add("write/"+quietBeside+" ÷ "+quietAlone+"/p99", "×", p99[quietBeside]/p99[quietAlone])
	return nil
}

func makeUpdate(host string, lease bool) *mdns.Msg {
	m := new(mdns.Msg)
	m.SetUpdate(domainOf("u"))
	name := host + "." + domainOf("u")
	header := func(t uint16) mdns.RR_Header {
		return mdns.RR_Header{Name: name, Rrtype: t, Class: mdns.ClassINET, Ttl: 300}
	}
	m.Insert([]mdns.RR{&mdns.A{Hdr: header(mdns.TypeA), A: []byte{192, 0, 2, 1}}})
	if lease {
		m.NameNotUsed([]mdns.RR{&mdns.ANY{Hdr: header(mdns.TypeANY)}})
		m.Insert([]mdns.RR{&mdns.DHCID{Hdr: header(mdns.TypeDHCID), Digest: "AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA="}})
	}
	return m
}

func (u *server) applyRecord(ctx context.Context, object, fqdn string) error {
	ttl := int32(300)
	r := &v1alpha1.Record{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Record"},
		ObjectMeta: metav1.ObjectMeta{Name: object},
		Spec:       v1alpha1.RecordSpec{DomainName: fqdn, Type: "A", Values: []string{"192.0.2.1"}, TTL: &ttl}}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = u.api.Records(namespace).Patch(ctx, object, types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: "bench"})
	return err
}
