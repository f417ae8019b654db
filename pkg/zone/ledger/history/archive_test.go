// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/kuberig"
)

func newArchive(client *clientv3.Client) *Archive {
	return &Archive{Client: client, Layout: layout.Keys{Prefix: "/p"}, Retention: time.Hour, Now: time.Now, Fault: func(string) {},
		Read: func(_ string, value []byte) (*content.Transaction, error) {
			tx := &content.Transaction{}
			return tx, json.Unmarshal(value, tx)
		}}
}

func startClient(t *testing.T) *clientv3.Client {
	t.Helper()
	server := must.Get(kuberig.StartEtcd(t.Context(), t.TempDir()))(t)
	t.Cleanup(server.Close)
	client := must.Get(clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint}}))(t)
	t.Cleanup(func() { client.Close() })
	return client
}

// Two servers archive the history of a deleted zone for the same outbox item. The slower server archives no step again,
// and treats the removal as archived, even if the faster server has deleted the item meanwhile.
func TestArchiveRemoved_byTwoServers(t *testing.T) {
	client := startClient(t)
	for _, at := range []int{1, 2} { // the slower one's page: of the steps, or of the removal
		t.Run(fmt.Sprintf("page %d", at), func(t *testing.T) {
			fast, slow := newArchive(client), newArchive(client)
			zone := fmt.Sprint("zone", at)
			put := func(key string, value any) int64 {
				return must.Get(client.Put(t.Context(), key, string(layout.Encode(value))))(t).Header.Revision
			}
			put(fast.Layout.Step(zone, 2), &content.Transaction{Steps: []content.Step{{N: 1, Serial: 1, Time: 1_800_000_000},
				{N: 2, From: 1, Serial: 2, Time: 1_800_000_000}}})
			put(fast.Layout.Step(zone, 2)+".gone", &content.Transaction{After: 2, Gone: true, Removal: &content.Removal{
				Identity: content.Identity{Namespace: "infra", Name: "top"}, FQDN: name.MustParse("example.org."), Serial: 2,
				Time: 1_800_000_001, Retention: 3600}})
			item := fast.Layout.Outbox(zone)
			same := etcd.RevisionIs(item, put(item, zone))
			pages := 0
			slow.Fault = func(string) {
				switch pages++; pages {
				case at:
					if kept := must.Get(fast.ArchiveRemoved(t.Context(), zone, same))(t); !kept {
						t.Error("the faster server gives up")
					}
				case at + 2:
					must.Get(client.Delete(t.Context(), item))(t)
				}
			}
			if kept := must.Get(slow.ArchiveRemoved(t.Context(), zone, same))(t); !kept {
				t.Error("the slower server gives up, although the removal is archived")
			}
			if x, _, err := fast.readArchived(t.Context(), zone, 0); err != nil || x.Gone == 0 || x.Serial != 2 || x.Last != 3 {
				t.Errorf("%+v, %v; want two steps and the removal", x, err)
			}
		})
	}
}

// The steps of a single transaction, caused by more namespaces than a page of the archive takes, are archived in two
// pages. Each step keeps the former state of its Record, if there was one, and all temporary keys under before/ are
// deleted.
func TestArchiveSteps_ofAValueInTwoPages(t *testing.T) {
	client := startClient(t)
	a := newArchive(client)
	const namespaces = pageNamespaces + 3
	tx := content.Transaction{}
	for i := range uint64(namespaces) {
		ns := fmt.Sprint("team", i)
		// The second page holds the last steps, which change no existing Record.
		was := i < pageNamespaces
		tx.Steps = append(tx.Steps, content.Step{N: i + 1, From: serial.Serial(i + 1), Serial: serial.Serial(i + 2), Time: 1_800_000_000,
			Record: &content.RecordRef{Namespace: ns, Name: "r", UID: "u", Was: was}})
		if was {
			before := Before{Of: []BeforeStep{{N: i + 1, Name: "r", UID: "u", State: []byte(`p{"spec":{}}`)}}}
			must.Get(client.Put(t.Context(), a.Layout.Before(ns, "z", namespaces), string(layout.Encode(&before))))(t)
		}
	}
	must.Get(client.Put(t.Context(), a.Layout.Step("z", namespaces), string(layout.Encode(&tx))))(t)
	of := Header{Zone: "z", Namespace: "infra", Name: "top", Retention: 3600}
	if kept := must.Get(a.ArchiveSteps(t.Context(), of, namespaces))(t); !kept {
		t.Fatal("the steps are not archived")
	}
	for _, kv := range must.Get(client.Get(t.Context(), a.Layout.Room("before"), clientv3.WithPrefix()))(t).Kvs {
		t.Errorf("%s remains", kv.Key)
	}
	archived := 0
	for _, kv := range must.Get(client.Get(t.Context(), a.Layout.Room("history"), clientv3.WithPrefix()))(t).Kvs {
		for _, x := range must.Get(DecodeSegment(kv.Value))(t).Entries {
			if archived++; (len(x.Was) == 1) != x.Step.Record.Was {
				t.Errorf("step %d: %d states, was %t", x.Step.N, len(x.Was), x.Step.Record.Was)
			}
		}
	}
	if archived != namespaces {
		t.Errorf("%d steps are archived, not %d", archived, namespaces)
	}
}
