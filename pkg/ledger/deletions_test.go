// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/store"
)

// brake is a zone with records of its own namespace, under a clock.
type brake struct {
	*testing.T
	*store.Store
	servers []*store.Server
	clock   atomic.Int64 // ns
	gone    sync.Map     // namespaces that terminate
	told    atomic.Int64 // holds that were announced
	change  []func(*ledger.Config)
}

func newBrake(t *testing.T, servers, records int, change ...func(*ledger.Config)) *brake {
	b := &brake{T: t, Store: store.New(t)}
	b.clock.Store(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixNano())
	b.change = append(change, func(c *ledger.Config) {
		c.Now = func() time.Time { return time.Unix(0, b.clock.Load()) }
		c.Terminating = func(namespace string) bool { _, is := b.gone.Load(namespace); return is }
		c.Held = func(*v1alpha1.Zone) { b.told.Add(1) }
	})
	for range servers {
		b.servers = append(b.servers, b.Server(b.change...))
	}
	b.servers[0].Run()
	z := store.Zone("infra", "example", "example.org.", store.Allow("infra", "*"), store.Allow("team", "*"))
	z.Spec.Limits = nil
	store.Must(b.first().CreateZone(z))
	b.Settle()
	b.fill("infra", "r", records)
	return b
}

func (b *brake) first() *store.Server { return b.servers[0] }

func (b *brake) fill(namespace, prefix string, n int) {
	b.Helper()
	b.each(1, n, func(s *store.Server, i int) error {
		r := store.Record(namespace, fmt.Sprint(prefix, i), fmt.Sprint(prefix, i), "A", "192.0.2.1")
		r.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "infra", Name: "example"}
		_, err := s.CreateRecord(b.Context(), r)
		return err
	})
}

// each carries something out for the numbers, at each server in turn, many at once.
func (b *brake) each(from, to int, do func(*store.Server, int) error) {
	b.Helper()
	next := atomic.Int64{}
	next.Store(int64(from - 1))
	parallel(16, func(int) {
		for i := int(next.Add(1)); i <= to && !b.Failed(); i = int(next.Add(1)) {
			if err := do(b.servers[i%len(b.servers)], i); err != nil {
				b.Error(err)
			}
		}
	})
	if b.Failed() {
		b.FailNow()
	}
}

func (b *brake) drop(namespace, prefix string, from, to int) {
	b.Helper()
	b.each(from, to, func(s *store.Server, i int) error {
		return s.DeleteRecord(b.Context(), namespace, fmt.Sprint(prefix, i))
	})
}

// lone deletes one after the other.
func (b *brake) lone(prefix string, from, to int, every time.Duration) {
	b.Helper()
	for i := from; i <= to; i++ {
		b.clock.Add(int64(every))
		if err := b.servers[i%len(b.servers)].DeleteRecord(b.Context(), "infra", fmt.Sprint(prefix, i)); err != nil {
			b.Fatal(err)
		}
	}
}

func (b *brake) zone() *v1alpha1.Zone { return b.first().Zone("infra", "example") }

// held fails the test unless the zone is held, or is not, and returns it.
func (b *brake) held(held bool) *v1alpha1.Zone {
	b.Helper()
	z := b.zone()
	c := meta.FindStatusCondition(z.Status.Conditions, v1alpha1.ConditionSettled)
	if is := c.Reason == v1alpha1.ReasonMassDeletion; is != held || held == (z.Status.SettledSerial == z.Status.Serial) {
		b.Fatalf("Settled=%s %s (%s), serial %d of which %d is settled; held is to be %t", c.Status, c.Reason, c.Message, z.Status.Serial, z.Status.SettledSerial, held)
	}
	return z
}

func (b *brake) publish(serial int64) {
	b.Helper()
	store.Must(b.first().UpdateZone("infra", "example", func(z *v1alpha1.Zone) {
		if z.Annotations == nil {
			z.Annotations = map[string]string{}
		}
		z.Annotations[v1alpha1.AnnotationPublishDeletions] = fmt.Sprint(serial)
	}))
}

// S7.5: deletes of one record each, one after the other, count however fast they come: of 1,000 the 301st is too many.
func TestMassDeletion_oneAtATime_S7_5(t *testing.T) {
	t.Parallel()
	for name, every := range map[string]time.Duration{"500 a second": 2 * time.Millisecond, "8 a second": 125 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBrake(t, 1, 1000)
			b.lone("r", 1, 300, every)
			before := b.held(false)
			b.lone("r", 301, 301, every)
			z := b.held(true)
			if z.Status.SettledSerial != before.Status.Serial {
				t.Errorf("serial %d is delivered, and %d was", z.Status.SettledSerial, before.Status.Serial)
			}
			b.lone("r", 302, 1000, every)
			if z = b.held(true); z.Status.RRsetCount != 0 || z.Status.SettledSerial != before.Status.Serial || b.told.Load() != 1 {
				t.Errorf("%d RRsets are left, serial %d is delivered, %d holds were told", z.Status.RRsetCount, z.Status.SettledSerial, b.told.Load())
			}
			c := meta.FindStatusCondition(z.Status.Conditions, v1alpha1.ConditionSettled)
			if line := fmt.Sprintf("kubectl annotate zone example -n infra --overwrite kubi.zone/publish-deletions=%d", before.Status.Serial); !strings.HasSuffix(c.Message, line) {
				t.Errorf("the condition does not end in %q: %s", line, c.Message)
			}
			// Neither a week nor the patience with cascades ends it.
			b.clock.Add(int64(7 * 24 * time.Hour))
			b.fill("team", "t", 1)
			b.held(true)
			b.publish(z.Status.SettledSerial)
			b.held(false)
			// What is let through stays let through until the base moves, ten minutes later.
			b.clock.Add(int64(11 * time.Minute))
			b.fill("infra", "s", 20)
			b.drop("infra", "s", 1, 20)
			b.held(true)
		})
	}
}

// S7.5: in batches, at several servers, and put back by anybody while others delete.
func TestMassDeletion_batches_S7_5(t *testing.T) {
	t.Parallel()
	b := newBrake(t, 3, 90)
	b.fill("team", "t", 30)
	b.drop("infra", "r", 1, 90)
	z := b.held(true)
	if b.told.Load() != 1 || z.Status.RRsetCount != 30 {
		t.Errorf("%d holds were told, %d RRsets are left", b.told.Load(), z.Status.RRsetCount)
	}
	b.fill("team", "r", 53)
	b.held(true)
	b.each(54, 54, func(s *store.Server, i int) error {
		r := store.Record("infra", fmt.Sprint("r", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.7")
		_, err := s.CreateRecord(t.Context(), r)
		return err
	})
	b.held(false) // 36 of 120 are gone
}

// S7.5: what is no deletion by the zone's own namespace holds nothing back, and a held zone is in no other's way.
func TestMassDeletion_notCounted_S7_5(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(*brake){
		"others' own": func(b *brake) {
			b.fill("team", "t", 40)
			b.drop("team", "t", 1, 40)
			b.held(false)
		},
		"the namespace terminates": func(b *brake) {
			b.gone.Store("infra", true)
			b.drop("infra", "r", 1, 20)
			b.held(false)
			b.Should(b.first().DeleteZone("infra", "example"))
			b.drop("infra", "r", 21, 30)
			b.gone.Delete("infra")
			b.Settle()
		},
		"another namespace's rule goes with its namespace": func(b *brake) {
			b.fill("team", "t", 40)
			b.gone.Store("team", true)
			b.drop("team", "t", 1, 40)
			b.held(false)
		},
		"a held zone is deleted": func(b *brake) {
			b.drop("infra", "r", 1, 20)
			b.held(true)
			b.Should(b.first().DeleteZone("infra", "example"))
			b.Settle()
			layout := ledger.Layout{Prefix: b.Prefix}
			for _, room := range []string{"deletions", "deleted"} {
				if r := store.Must(b.Client.Client.Get(b.Context(), layout.Room(room), clientv3.WithPrefix())); len(r.Kvs) > 0 {
					b.Errorf("%d keys of %s are left", len(r.Kvs), room)
				}
			}
			store.Must(b.first().CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("infra", "*"))))
			b.Settle()
			b.held(false)
		},
		"a rename": func(b *brake) {
			store.Must(b.first().UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.DomainName = "example.net." }))
			b.Settle()
			b.held(false)
			b.drop("infra", "r", 1, 20)
			z := b.held(true)
			store.Must(b.first().UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.DomainName = "example.com." }))
			b.Settle()
			if now := b.held(true); now.Status.SettledSerial != z.Status.SettledSerial {
				b.Errorf("settled serial %d, and was %d", now.Status.SettledSerial, z.Status.SettledSerial)
			}
			b.publish(z.Status.SettledSerial)
			b.held(false)
		},
		"records move into a child zone": func(b *brake) {
			store.Must(b.first().UpdateZone("infra", "example", func(z *v1alpha1.Zone) {
				z.Spec.Delegations = append(z.Spec.Delegations, v1alpha1.Delegation{Zones: []string{"*"}})
			}))
			for i := range 20 {
				r := store.Record("infra", fmt.Sprint("below", i), fmt.Sprintf("b%d.child.example.org.", i), "A", "192.0.2.1")
				store.Must(b.first().CreateRecord(b.Context(), r))
			}
			store.Must(b.first().CreateZone(store.Zone("infra", "child", "child.example.org.", store.Allow("infra", "*"))))
			b.Settle()
			b.held(false)
			b.Should(b.first().DeleteZone("infra", "child"))
			b.Settle()
			b.held(false)
		},
		"no limit": func(b *brake) {
			store.Must(b.first().UpdateZone("infra", "example", func(z *v1alpha1.Zone) {
				off := int32(100)
				z.Spec.Limits = &v1alpha1.ZoneLimits{MaxDeletePercent: &off}
			}))
			b.drop("infra", "r", 1, 30)
			b.held(false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			do(newBrake(t, 1, 30))
		})
	}
}

// Should fails the test for an error.
func (b *brake) Should(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// S7.5: a withdrawn rule counts, whatever it lets go; its cascade settles nothing. The annotation may be in the same change.
func TestMassDeletion_ofAWithdrawnRule_S7_5(t *testing.T) {
	t.Parallel()
	b := newBrake(t, 1, 30)
	b.fill("team", "t", 30)
	rules := func(publish int64, delegations ...v1alpha1.Delegation) {
		store.Must(b.first().UpdateZone("infra", "example", func(z *v1alpha1.Zone) {
			z.Spec.Delegations, z.Annotations = delegations, map[string]string{v1alpha1.AnnotationPublishDeletions: fmt.Sprint(publish)}
		}))
	}
	rules(0, store.Allow("infra", "*"))
	b.Settle()
	b.held(true)
	rules(0, store.Allow("infra", "*"), store.Allow("team", "*"))
	b.Settle()
	z := b.held(false)
	rules(z.Status.Serial, store.Allow("infra", "*"))
	b.Settle()
	b.held(false)
	if n := b.told.Load(); n != 1 {
		t.Errorf("%d holds were told", n)
	}
}

// S7.5: while a zone is held its journal leads back to what is delivered, so that a server that starts delivers it on; other zones'
// journals and this one, once it is let through, are trimmed as ever.
func TestMassDeletion_restart_S7_5(t *testing.T) {
	t.Parallel()
	b := newBrake(t, 1, 200, func(c *ledger.Config) { c.JournalSteps = 10 }, ledger.JournalOctets(16<<10))
	b.drop("infra", "r", 1, 200)
	z := b.held(true)
	b.each(1, 100, func(s *store.Server, i int) error { // it goes on for long
		r := store.Record("team", fmt.Sprint("t", i), fmt.Sprintf("t%d.example.org.", i%10), "TXT", fmt.Sprint("v", i))
		_, err := s.CreateRecord(t.Context(), r)
		return err
	})
	restarted := b.Server(b.change...)
	base := list(t, restarted).bases["infra/example"]
	if base.Settled || len(base.Since) == 0 || base.Since[0].From != serial.Serial(z.Status.SettledSerial) || base.Zone.SettledSerial != serial.Serial(z.Status.SettledSerial) {
		t.Fatalf("settled %t, %d steps since serial %d", base.Settled, len(base.Since), base.Zone.SettledSerial)
	}
	if n := restarted.Ledger.HeldZones(); n != 1 {
		t.Errorf("%d zones are held, as the server that started says", n)
	}
	// It counts on from what is stored.
	b.servers = append(b.servers, restarted)
	b.publish(z.Status.SettledSerial)
	b.held(false)
	b.fill("team", "u", 60)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		keys, _ := journalOf(t, b.Store, string(z.UID))
		if len(keys) < 50 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d keys of the journal are left", len(keys))
		}
		b.fill("team", fmt.Sprint("v", time.Now().UnixNano()), 1)
	}
}

// S7.5: marks of deleted RRsets go when they count no longer.
func TestMassDeletion_forgetsMarks_S7_5(t *testing.T) {
	t.Parallel()
	b := newBrake(t, 1, 30, ledger.SerialsEvery(20*time.Millisecond))
	b.drop("infra", "r", 1, 9)
	marks := func() int {
		return len(store.Must(b.Client.Client.Get(t.Context(), ledger.Layout{Prefix: b.Prefix}.Room("deleted"), clientv3.WithPrefix())).Kvs)
	}
	if n := marks(); n != 9 {
		t.Fatalf("%d marks of 9 deleted RRsets", n)
	}
	b.clock.Add(int64(2 * time.Hour))
	for deadline := time.Now().Add(time.Minute); marks() > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d marks are left", marks())
		}
	}
	b.drop("infra", "r", 10, 18)
	b.held(false)
	b.drop("infra", "r", 19, 19)
	b.held(true)
}

// Migration 10 counts RRsets, also where it was killed in between.
func TestMigration10_countsRRsets(t *testing.T) {
	t.Parallel()
	for n := range 3 {
		b := newBrake(t, 1, 30)
		b.fill("team", "t", 3)
		z := b.zone()
		key := ledger.Layout{Prefix: b.Prefix}.Zone("infra", "example")
		old := z.DeepCopy()
		old.Status.RRsetCount = 0
		data := store.Must(runtime.Encode(store.Codec().Codec, old))
		store.Must(b.Client.Client.Put(t.Context(), key, string(data)))
		b.Old(9)
		ends, ended := endsThere(n)
		func() {
			defer func() {
				if r := recover(); r != nil && r != errEnds {
					panic(r)
				}
			}()
			_ = opening(t, b.Store, append(b.change, ends, ledger.Migrations())...)
		}()
		b.servers = []*store.Server{b.Server(append(b.change, ledger.Migrations())...)}
		if now := b.zone(); now.Status.RRsetCount != z.Status.RRsetCount || z.Status.RRsetCount != 33 {
			t.Errorf("where the first server ended at its transaction %d (%t): %d RRsets, and %d before", n, *ended, now.Status.RRsetCount, z.Status.RRsetCount)
		}
		b.MustBeClean()
	}
}

// BenchmarkDelete is what a delete costs that is counted (by the zone's own namespace) beside one that is not, alone and with
// fifteen others. The zone lets all through.
func BenchmarkDelete(b *testing.B) {
	for _, callers := range []int{1, 16} {
		st := store.New(b)
		s := st.Server()
		store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("infra", "*"), store.Allow("team", "*"))))
		round := 0
		for _, namespace := range []string{"infra", "team"} {
			b.Run(fmt.Sprintf("%s/%d", namespace, callers), func(b *testing.B) {
				b.StopTimer()
				round++
				for i := range b.N {
					store.Must(s.CreateRecord(b.Context(), store.Record(namespace, fmt.Sprintf("b%d-%d", round, i), fmt.Sprintf("b%d-%d.example.org.", round, i), "A", "192.0.2.1")))
				}
				b.StartTimer()
				var next atomic.Int64
				parallel(callers, func(int) {
					for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
						if err := s.DeleteRecord(b.Context(), namespace, fmt.Sprintf("b%d-%d", round, i)); err != nil {
							b.Error(err)
						}
					}
				})
			})
		}
	}
}
