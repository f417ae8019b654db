// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/test/bench/figures"
	"kubi.zone/kubizone/test/store"
)

// Every store has the big zone, with rules for the tenant, and a neighbour's zone.
const (
	owner     = "platform"
	tenant    = "tenant"
	big       = "big"
	bigName   = "big.example."
	other     = "other"
	otherName = "other.example."
)

const (
	filling = "KUBIZONE_BENCH_FILLING"
	filled  = "KUBIZONE_BENCH_FILLED"
	into    = "KUBIZONE_BENCH_INTO"
)

type fixture struct{ records, zones int }

func (f fixture) nameOf() string {
	if f.zones > 0 {
		return fmt.Sprintf("zones-%d", f.zones)
	}
	return fmt.Sprintf("records-%d", f.records)
}

// keepSnapshot fills a store, once for this storage format, and returns its snapshot's path.
func (f fixture) keepSnapshot(ctx context.Context, dir string) (string, error) {
	kept := filepath.Join(dir, fmt.Sprintf("format-%d", ledger.Format), f.nameOf()+".db")
	if _, err := os.Stat(kept); err == nil {
		return kept, nil
	}
	begun, err := os.MkdirTemp("", "kubizone-fill-") // short enough for a socket
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(begun)
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return "", err
	}
	// Keep the filling out of the measured memory.
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	child := exec.CommandContext(ctx, self)
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	child.Env = append(os.Environ(), filling+"="+begun, filled+"="+fmt.Sprintf("%d %d", f.records, f.zones), into+"="+kept, "GOGC=400", "GOMEMLIMIT=4GiB")
	child.Stderr = os.Stderr
	if err := child.Run(); err != nil {
		return "", fmt.Errorf("filling %s: %w", kept, err)
	}
	return kept, nil
}

func (f fixture) fillStore(ctx context.Context, dir, kept string) error {
	m, err := startMember(dir)
	if err != nil {
		return err
	}
	defer m.stop()
	ctx, cancel := context.WithCancel(genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: pki.AdminUser}))
	defer cancel()
	s, err := store.NewServer(ctx, m.client, apiserver.Prefix)
	if err != nil {
		return err
	}
	go func() { _ = s.Ledger.Run(ctx) }()
	zone := func(name, fqdn string, rules ...v1alpha1.DelegationRule) error {
		z := store.Zone(owner, name, fqdn, rules...)
		z.UID = types.UID(uuid.NewUUID())
		z.Spec.NameServers = []v1alpha1.NameServer{{Name: "ns", Addresses: []string{"192.0.2.53"}}}
		_, err := s.CreateZone(z)
		return err
	}
	if err := zone(other, otherName, store.Allow(tenant, "*")); err != nil {
		return err
	}
	var done atomic.Int64
	began, all := time.Now(), max(f.records, 10*f.zones)
	go func() {
		for tick := time.Tick(20 * time.Second); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick:
			}
			printLine("%s: %d of %d written, %.0f/s", f.nameOf(), done.Load(), all, float64(done.Load())/time.Since(began).Seconds())
		}
	}()
	record := func(ctx context.Context, namespace, zone, name, domain string, i int) error {
		done.Add(1)
		o := store.Record(namespace, name, domain, "A", fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255))
		o.UID, o.Spec.ZoneRef = types.UID(uuid.NewUUID()), &v1alpha1.ZoneReference{Namespace: owner, Name: zone}
		if f.zones > 0 {
			o.Spec.ZoneRef.Namespace = namespace
		}
		_, err := s.CreateRecord(ctx, o)
		return err
	}
	if f.zones == 0 {
		if err := zone(big, bigName, store.Allow(tenant, "*")); err != nil {
			return err
		}
		_, _, err = figures.Callers(ctx, 120, f.records, func(ctx context.Context, i int) error {
			return record(ctx, tenant, big, recordName(i), recordName(i), i)
		})
	} else {
		_, _, err = figures.Callers(ctx, 40, f.zones, func(ctx context.Context, i int) error {
			namespace, fqdn := fmt.Sprintf("team-%d", i%1000), fmt.Sprintf("z%06d.example.", i)
			z := store.Zone(namespace, fmt.Sprintf("z%06d", i), fqdn, store.Allow(namespace, "*"))
			z.UID = types.UID(uuid.NewUUID())
			if _, err := s.CreateZone(z); err != nil {
				return err
			}
			_, _, err := figures.Callers(ctx, 10, 10, func(ctx context.Context, j int) error {
				return record(ctx, namespace, z.Name, fmt.Sprintf("%s-r%d", z.Name, j), fmt.Sprintf("r%d", j), 10*i+j)
			})
			return err
		})
	}
	if err != nil {
		return err
	}
	printLine("%s: written in %s", f.nameOf(), time.Since(began).Round(time.Second))
	// Wait for pending work, as in a store that has run for a while.
	for until := time.Now().Add(10 * time.Minute); ; time.Sleep(time.Second) {
		pending := int64(0)
		for _, room := range []string{"outbox", "debts"} {
			r, err := m.client.Client.Get(ctx, s.Ledger.Layout().Room(room), clientv3.WithPrefix(), clientv3.WithCountOnly())
			if err != nil {
				return err
			}
			pending += r.Count
		}
		if pending == 0 {
			break
		}
		if time.Now().After(until) {
			return fmt.Errorf("after ten minutes %d works and debts stand", pending)
		}
	}
	return m.writeSnapshot(ctx, kept)
}

func recordName(i int) string { return fmt.Sprintf("r%07d", i) }
