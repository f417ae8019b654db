// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// A cascade releases objects that are being deleted like any others, and takes none of them in (S2.8). An object with
// a deletionTimestamp never comes back. A namespace may come back: a client finalizes it while records are left, and
// makes it again. So a cascade that comes to an object in a namespace that terminates notes that in the outbox before
// it ends, in one item for each namespace. The item stands while the namespace terminates, marks no zone and holds
// none back. Then all that is still in the namespace is decided anew, by the rules in force.

// leavesAlone reports whether a cascade takes the object into no zone because it is being deleted, or its namespace
// terminates. In the latter case it notes that the namespace is decided anew later.
func (box *Outbox) leavesAlone(ctx context.Context, s *standing, o metav1.Object) (bool, error) {
	if o.GetDeletionTimestamp() != nil {
		return true, nil
	}
	namespace := o.GetNamespace()
	if !box.Terminates(namespace) {
		return false, nil
	}
	s.left.mu.Lock()
	defer s.left.mu.Unlock()
	if s.left.said[namespace] {
		return true, nil
	}
	if err := box.noteLeft(ctx, namespace); err != nil {
		return true, err
	}
	if s.left.said == nil {
		s.left.said = map[string]bool{}
	}
	s.left.said[namespace] = true
	return true, nil
}

// LeftID is the id of the outbox item about what cascades left alone in a namespace.
func LeftID(namespace string) string { return "left-" + namespace }

// noteLeft writes the item of a namespace, or counts one more cascade in it.
func (box *Outbox) noteLeft(ctx context.Context, namespace string) error {
	key := box.mem.Layout.Outbox(LeftID(namespace))
	for {
		r, err := box.mem.Client.Get(ctx, key)
		if err != nil {
			return err
		}
		w := law.Work{ID: LeftID(namespace), Reason: fmt.Sprintf("cascades took in nothing that is in namespace %s, which terminates",
			namespace), Left: namespace, By: namespace, Since: box.mem.Now().Unix()}
		mod := int64(0)
		if len(r.Kvs) > 0 {
			mod = r.Kvs[0].ModRevision
			if err := layout.Decode(r.Kvs[0].Value, &w); err != nil {
				return layout.Unreadable(key, err)
			}
		}
		w.Times++
		done, err := box.mem.Client.Txn(ctx).If(etcd.RevisionIs(key, mod)).Then(etcd.OpPut(key, layout.Encode(w))).Commit()
		if err != nil || done.Succeeded {
			return err
		}
	}
}

// collectLeft finds the records and the waiting zones of the namespace that a work was left for.
func (box *Outbox) collectLeft(ctx context.Context, s *standing, add func(candidate)) error {
	namespace := s.Work.Left
	if namespace == "" {
		return nil
	}
	var rev int64
	if err := etcd.Each(ctx, box.mem.Client, box.mem.Layout.Record(namespace, ""), &rev, func(key string, data []byte, mod int64) error {
		o := &v1alpha1.Record{}
		if err := box.mem.Records.Decode(ctx, key, data, mod, o); err != nil {
			_, object, _ := box.mem.Layout.ObjectName(key)
			return s.leaveOut(ctx, law.Ref{Namespace: namespace, Name: object}, err)
		}
		c, err := box.recordCandidate(ctx, o)
		if err == nil {
			add(c)
		}
		return err
	}); err != nil {
		return err
	}
	return etcd.Each(ctx, box.mem.Client, box.mem.Layout.Zone(namespace, ""), &rev, func(key string, data []byte, mod int64) error {
		o := &v1alpha1.Zone{}
		if err := box.mem.Zones.Decode(ctx, key, data, mod, o); err != nil {
			return err
		}
		if o.Status.FQDN == "" {
			add(candidate{letter: layout.WaitingZone, namespace: o.Namespace, object: o.Name, uid: string(o.UID),
				created: o.CreationTimestamp.Unix()})
		}
		return nil
	})
}
