// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

const (
	// releasesRefused is the migration that owes the release of what is refused now.
	releasesRefused = 6
	// maxRefused bounds the records that one item names, some 250 KiB.
	maxRefused = 2000
)

// releaseRefused owes another decision about the records of earlier versions that are refused now (S5.9), and about
// no others: records that only stricter rules would refuse keep their places. The delivered content of a zone changes
// once, when all of them have left it (S7.2). A record that cannot be read keeps no server from its start, as it
// stops no cascade (outbox/damaged.go). A later version that refuses more lists this migration again, under another
// number, and has fsck know that one.
func releaseRefused(ctx context.Context, m *migrating) error {
	var outdated law.Outdated
	if err := m.eachKey(ctx, m.mem.Layout.Objects("zones"), func(kv *mvccpb.KeyValue) error {
		o := &v1alpha1.Zone{}
		err := m.mem.Zones.Decode(ctx, string(kv.Key), kv.Value, kv.ModRevision, o)
		if err == nil {
			err = AddZone(&outdated, o)
		}
		return m.leaveOut(ctx, string(kv.Key), err)
	}); err != nil {
		return err
	}
	if err := m.eachKey(ctx, m.mem.Layout.Objects("records"), func(kv *mvccpb.KeyValue) error {
		o := &v1alpha1.Record{}
		err := m.mem.Records.Decode(ctx, string(kv.Key), kv.Value, kv.ModRevision, o)
		if err == nil {
			err = AddRecord(&outdated, o)
		}
		return m.leaveOut(ctx, string(kv.Key), err)
	}); err != nil {
		return err
	}
	for all := slices.DeleteFunc(outdated.Records(), func(r law.OutdatedRecord) bool { return r.Stays }); len(all) > 0; {
		z := all[0].Zone
		w := m.workOf(z, fmt.Sprintf("records in zone %s are refused now", z.FQDN()))
		w.ID += "-" + all[0].Record.UID
		w.Zones = []law.Place{{Ref: z.Ref, View: z.View, FQDN: z.FQDN()}}
		for len(all) > 0 && all[0].Zone == z && len(w.Refused) < maxRefused {
			w.Refused, all = append(w.Refused, all[0].Record), all[1:]
		}
		if err := m.putWork(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// Outdated reports whether a Record of an earlier version is in no zone because it is refused now, and what its
// condition says of that (S5.9).
func Outdated(o *v1alpha1.Record) (message string, ok bool) {
	adopted := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionAdopted)
	t, err := rdata.ParseType(o.Spec.Type)
	if err != nil || adopted == nil || o.Status.ZoneRef != nil || !law.OutdatedReason(adopted.Reason, t) {
		return "", false
	}
	return adopted.Message, true
}

// AddZone takes a Zone in.
func AddZone(to *law.Outdated, o *v1alpha1.Zone) error {
	z, err := objects.LawZone(o)
	if err == nil {
		to.AddZone(z)
	}
	return err
}

// AddDelegation adds the rule of a Delegation that is in force.
func AddDelegation(to *law.Outdated, o *v1alpha1.Delegation) error {
	rule, err := objects.DelegationRule(o)
	if in := o.Status.ZoneRef; err == nil && in != nil {
		to.AddRule(string(in.UID), rule)
	}
	return err
}

// AddRecord adds a Record that a zone has.
func AddRecord(to *law.Outdated, o *v1alpha1.Record) error {
	at, _, err := objects.Adopted(o)
	if err == nil && at != nil {
		to.AddRecord(law.Ref{Namespace: o.Namespace, Name: o.Name, UID: string(o.UID)}, o.CreationTimestamp.Unix(), at)
	}
	return err
}

// ReleasesRefused is the format from which on refused records of earlier versions have left their zones, or an outbox
// item releases them.
const ReleasesRefused = releasesRefused
