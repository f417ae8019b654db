// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

// A deleted Delegation is kept for oldDelegationTTL.
const oldDelegationTTL = 10 * time.Minute

const (
	// jointDeletion is the longest time between the deletions of a Delegation and its zone by one command of a user.
	jointDeletion = time.Minute

	maxOldOctets = 1 << 20
	maxRemoved   = 100
)

// OldDelegation is a Delegation that has left its zone, stored beside the archive until the zone's removal moves it
// into a segment.
type OldDelegation struct {
	Time  int64  `json:"t"`
	Name  string `json:"n"`
	State []byte `json:"s"`
	// By is the user of the deletion, "" for a cascade. Ends is true if its namespace was deleted.
	By   string `json:"by,omitempty"`
	Ends bool   `json:"e,omitempty"`
}

// wentWith reports whether the Delegation left with its zone: in the zone's removal, with their namespace, or by the
// same user a moment before, as kubectl delete -f does. A Delegation revoked earlier is no part of the deletion, and
// must not return as a right.
func (d *OldDelegation) wentWith(removal *content.Removal) bool {
	before := time.Duration(removal.Time-d.Time) * time.Second
	switch {
	case d.Ends:
		return before <= oldDelegationTTL
	case d.By == "": // the removal's cascade
		return before <= 0
	case d.By == removal.By:
		return before <= jointDeletion
	}
	return before < 0 // after the zone, so that no right was revoked
}

// DelegationLeftOp returns a put of a Delegation that leaves a zone. The key has the number of remaining Delegations,
// so a zone stores no more than it once had. For a removed zone, the number is -1.
func (a *Archive) DelegationLeftOp(zone string, remaining int, o metav1.Object, spec any, by string, ends bool) (clientv3.Op, error) {
	packed, err := Pack(o, spec, maxZoneState)
	if err != nil {
		return clientv3.Op{}, err
	}
	old := OldDelegation{Time: a.Now().Unix(), Name: o.GetName(), State: packed.Text, By: by, Ends: ends}
	return etcd.OpPut(a.oldDelegationKey(zone, remaining, old.Name), layout.Encode(&old)), nil
}

// DelegationJoinedOp returns the deletion of the old Delegation with a number, because a new Delegation takes the
// number.
func (a *Archive) DelegationJoinedOp(zone string, number int) clientv3.Op {
	return clientv3.OpDelete(a.oldDelegationKey(zone, number, ""))
}

func (a *Archive) oldDelegationKey(zone string, number int, name string) string {
	if number >= 0 {
		name = fmt.Sprintf("#%08d", number)
	}
	return a.Layout.LeftDelegation(zone, name)
}

// maxZoneState bounds the state of a Zone or Delegation, whose object may have 96 KiB.
const maxZoneState = 64 << 10

func PackZone(o metav1.Object, spec any) (Packed, error) { return Pack(o, spec, maxZoneState) }

// readOldDelegations returns the Delegations that left with their zone, sorted by name. If not all fit, whole is false.
func (a *Archive) readOldDelegations(ctx context.Context, zone string, removal *content.Removal) (out []Was, whole bool, err error) {
	octets, seen := 0, map[string]int64{}
	whole = true
	_, err = etcd.Scan(ctx, a.Client, a.Layout.LeftDelegations(zone), "", 0, func(kv *mvccpb.KeyValue) error {
		var old OldDelegation
		text := json.RawMessage(nil)
		err := layout.Decode(kv.Value, &old)
		if err == nil {
			text, err = Unpack(old.State)
		}

		if err != nil {
			klog.FromContext(ctx).Error(layout.Unreadable(string(kv.Key), err), "The history of a zone lacks a Delegation")
			return nil
		}

		// A Delegation may have left twice, under two numbers: the later state counts.
		last, again := seen[old.Name]
		if !old.wentWith(removal) || again && last >= old.Time {
			return nil
		}
		if octets += len(text); octets > maxOldOctets {
			whole = false
			return nil
		}

		seen[old.Name] = old.Time
		out = append(slices.DeleteFunc(out, func(w Was) bool { return w.Name == old.Name }), Was{Name: old.Name, State: text})
		return nil
	})

	slices.SortFunc(out, func(x, y Was) int { return strings.Compare(x.Name, y.Name) })
	return out, whole, err
}

func (a *Archive) nameOps(of *Header) []clientv3.Op {
	value := layout.Encode(of)
	return []clientv3.Op{etcd.OpPut(a.Layout.ArchivedName(of.Namespace, of.Name), value),
		etcd.OpPut(a.Layout.ArchivedFQDN(of.FQDN, of.Namespace, of.View), value)}
}

func entryOfRemoval(zone string, n uint64, x *content.Removal) Entry {
	e := Entry{Step: content.Step{N: n, From: x.Serial, Serial: x.Serial, By: x.By, Origin: x.Origin, Time: x.Time},
		Removed: &Removed{UID: zone}}
	if text, err := Unpack(x.State); err == nil {
		e.Removed.State = text
	}
	return e
}
