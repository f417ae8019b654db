// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/situations"
	"kubi.zone/kubizone/test/store"
)

// The situations of docs/situations.md run on a server with etcd. Their commands are those of TestStories, without the
// names of servers and with shortened answers. The page contains the real output.
func TestSituations(t *testing.T) {
	t.Parallel()
	for _, s := range must.Get(situations.Read("../../../docs/situations.md"))(t) {
		t.Run(s.Number+" "+s.Title, func(t *testing.T) {
			t.Parallel()
			const server = "server"
			w := newWorld(t, &datadriven.TestData{CmdArgs: []datadriven.CmdArg{{Key: server}}})
			w.asksToEstablish = true
			defer w.endStory(t, s.Title)
			datadriven.RunTestFromString(t, s.Story, func(t *testing.T, d *datadriven.TestData) string {
				if d.Cmd == "show" {
					return w.showShort(t, d)
				}
				x := *d
				x.CmdArgs = slices.Concat([]datadriven.CmdArg{{Key: server}}, d.CmdArgs)
				return situations.Shorten(d.Cmd, w.describeCommand(t, &x))
			})
		})
	}
}

// createZone creates a zone with or without the right to establish it.
func (w *world) createZone(a *actor, z *v1alpha1.Zone, mayEstablish bool) (*v1alpha1.Zone, error) {
	if mayEstablish {
		return a.CreateZone(z)
	}
	out := &v1alpha1.Zone{}
	err := a.Zones.Create(a.Ledger.WithEstablish(a.Ctx, false), store.Key("zones", z.Namespace, z.Name), z, out, 0)
	return out, err
}

// listPTR lists the PTR records of a zone, by its journal.
func (w *world) listPTR(t *testing.T, uid string) (lines string) {
	set := zoneview.NewSet(zoneview.Config{})
	client := must.Get(w.st.Connect())(t)
	prefix := layout.Keys{Prefix: w.st.Prefix}.Journal(uid)
	for _, kv := range must.Get(client.Get(t.Context(), prefix, clientv3.WithPrefix()))(t).Kvs {
		var tx content.Transaction
		must.Succeed(t, layout.Decode(kv.Value, &tx))
		must.Succeed(t, set.Apply(uid, tx, zoneview.Zone{UID: uid}))
	}
	view, _ := set.ByUID(uid)
	for e := range view.Entries() {
		if e.Type == rdata.PTR {
			lines += fmt.Sprintf("%s PTR %s\n", e.Name, e.Data)
		}
	}
	return lines
}

func (w *world) showShort(t *testing.T, d *datadriven.TestData) string {
	ns, name, _ := strings.Cut(d.CmdArgs[1].Key, "/")
	s := w.servers["server"]
	switch d.CmdArgs[0].Key {
	case "record":
		r := s.Record(ns, name)
		c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionAdopted)
		switch ref := r.Status.ZoneRef; {
		case ref == nil:
			return "waits, reason " + c.Reason + "\n"
		case r.Status.EndsAt != nil:
			return "in zone " + ref.Namespace + "/" + ref.Name + ", reason " + c.Reason + "\n"
		default:
			return "in zone " + ref.Namespace + "/" + ref.Name + "\n"
		}
	case "zone":
		z := &v1alpha1.Zone{}
		store.Must(z, s.Zones.Get(s.Ctx, store.Key("zones", ns, name), storage.GetOptions{}, z))
		c := meta.FindStatusCondition(z.Status.Conditions, v1alpha1.ConditionDelegated)
		if z.Status.FQDN == "" {
			return "waits, reason " + c.Reason + "\n"
		}
		return "stays, reason " + c.Reason + "\n"
	case "ptr":
		z := &v1alpha1.Zone{}
		store.Must(z, s.Zones.Get(s.Ctx, store.Key("zones", ns, name), storage.GetOptions{}, z))
		return cmp.Or(w.listPTR(t, string(z.UID)), "none\n")
	}
	d.Fatalf(t, "show what?")
	return ""
}
