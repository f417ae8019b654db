// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// A journal value whose steps need two pages has its states in the segments of both, and none remains in before/.
func TestArchiveSteps_ofAValueInTwoPages(t *testing.T) {
	server := must.Get(kuberig.StartEtcd(t.Context(), t.TempDir()))(t)
	t.Cleanup(server.Close)
	client := must.Get(clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint}}))(t)
	defer client.Close()
	a := &Archive{Client: client, Layout: layout.Keys{Prefix: "/p"}, Retention: time.Hour, Now: time.Now, Fault: func(string) {},
		Read: func(_ string, value []byte) (*content.Transaction, error) {
			tx := &content.Transaction{}
			return tx, json.Unmarshal(value, tx)
		}}
	const namespaces = pageNamespaces + 3
	tx := content.Transaction{}
	for i := range uint64(namespaces) {
		ns := fmt.Sprint("team", i)
		// The second page has the last steps, which change no present Record.
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
