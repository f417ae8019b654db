// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// A write of a Delegation is one transaction: the object, its Zone, whose revision moves and whose content stays, the keys of
// the namespaces that it is for (rules/), and one outbox item that has those decided anew (S4.8).

// Delegations decorates the raw storage of Delegations. raw must be built with a client from Seam.
func (l *Ledger) Delegations(raw storage.Interface) storage.Interface {
	return &delegations{Interface: raw, l: l}
}

type delegations struct {
	storage.Interface
	l *Ledger
}

// delegationWrite is the committer of one Delegation write.
type delegationWrite struct {
	l             *Ledger
	before, after *v1alpha1.Delegation
	committed     *v1alpha1.Delegation
}

func (s *delegations) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	if ttl != 0 {
		return errLease
	}
	w := &delegationWrite{l: s.l, after: obj.(*v1alpha1.Delegation)}
	if err := s.Interface.Create(withCommitter(ctx, w), key, obj, nil, 0); err != nil {
		return err
	}
	w.copyTo(out)
	return nil
}

func (s *delegations) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions, validate storage.ValidateObjectFunc, cached runtime.Object, opts storage.DeleteOptions) error {
	w := &delegationWrite{l: s.l}
	v := func(ctx context.Context, obj runtime.Object) error {
		if err := validate(ctx, obj); err != nil {
			return err
		}
		w.before, _ = obj.(*v1alpha1.Delegation)
		return nil
	}
	return s.Interface.Delete(withCommitter(ctx, w), key, out, preconditions, v, cached, opts)
}

func (s *delegations) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool, preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, cached runtime.Object) error {
	w := &delegationWrite{l: s.l}
	try := func(in runtime.Object, meta storage.ResponseMeta) (runtime.Object, *uint64, error) {
		w.before = nil
		if meta.ResourceVersion != 0 {
			w.before = in.(*v1alpha1.Delegation).DeepCopy() // tryUpdate may change in
		}
		out, ttl, err := tryUpdate(in, meta)
		if err != nil {
			return out, ttl, err
		}
		if ttl != nil && *ttl != 0 {
			return nil, nil, errLease
		}
		w.after = out.(*v1alpha1.Delegation)
		return out, ttl, nil
	}
	if err := s.Interface.GuaranteedUpdate(withCommitter(ctx, w), key, destination, ignoreNotFound, preconditions, try, cached); err != nil {
		return err
	}
	w.copyTo(destination)
	return nil
}

func (w *delegationWrite) copyTo(out runtime.Object) {
	if w.committed != nil && out != nil {
		*out.(*v1alpha1.Delegation) = *w.committed
	}
}

func (w *delegationWrite) commit(ctx context.Context, key string, expected int64, put []byte) (outcome, error) {
	l := w.l
	if namespace, _, ok := l.layout.ObjectName(key); ok {
		ctx = paidBy(ctx, payer{namespace, 1})
	}
	w.committed = nil
	if put == nil {
		w.after = nil
		if w.before == nil {
			return outcome{}, fmt.Errorf("ledger: %s cannot be decoded, and deleting it unseen would leave its rules in the zone: restore it from a backup, then run kubizone fsck", key)
		}
	}
	if put != nil && expected != 0 && w.before == nil {
		return outcome{}, fmt.Errorf("ledger: update of %s without its present state", key)
	}
	if w.before != nil && w.after != nil && apiequality.Semantic.DeepEqual(w.before.Spec, w.after.Spec) { // S2.4
		return l.plain(ctx, key, expected, put)
	}
	ask, err := l.delegationAsk(w.before, w.after)
	if err != nil {
		return outcome{}, err
	}
	tx, placed := l.delegationTx(ask, w.before, w.after, expected)
	out, err := l.commit(ctx, tx)
	if err != nil || !out.ok {
		return out, err
	}
	warn(ctx, tx.plan.Warnings)
	if *placed != nil {
		w.committed = *placed
		_ = (storage.APIObjectVersioner{}).UpdateObject(w.committed, uint64(out.rev))
	}
	return out, nil
}

// delegationTx is the write of a decision about a Delegation; placed is set to the object as it will stand.
func (l *Ledger) delegationTx(ask law.DelegationAsk, before, after *v1alpha1.Delegation, expected int64) (tx *write, placed **v1alpha1.Delegation) {
	spec, of := ask.After, after
	if spec == nil {
		spec, of = ask.Before, before
	}
	placed = new(*v1alpha1.Delegation)
	tx = l.writeOf("delegations", of, expected)
	tx.hint = l.layout.Zone(ask.Namespace, spec.Zone)
	tx.ask = func(seen *law.Seen) law.Outcome { return law.DecideDelegation(seen, ask) }
	tx.primary = func(ctx context.Context, plan *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
		*placed = nil
		if plan.Delegation == nil {
			op := clientv3.OpDelete(tx.key)
			return &op, nil, nil
		}
		o := after.DeepCopy()
		l.placeDelegation(o, plan.Delegation)
		if ask.Cascade && plan.Zone == nil && apiequality.Semantic.DeepEqual(o.Status, after.Status) {
			plan.Orphan, plan.OrphanBefore = nil, nil
			return nil, nil, nil
		}
		data, err := l.config.Delegations.encode(ctx, tx.key, o)
		*placed = o
		op := opPut(tx.key, data)
		return &op, nil, err
	}
	return tx, placed
}

// delegationAsk makes the request to the law of a write.
func (l *Ledger) delegationAsk(before, after *v1alpha1.Delegation) (law.DelegationAsk, error) {
	ask := law.DelegationAsk{Now: l.now()}
	if before != nil {
		spec, err := delegationSpec(before)
		if err != nil {
			return ask, fmt.Errorf("delegation %s/%s: %w", before.Namespace, before.Name, err)
		}
		ask.Ref = law.Ref{Namespace: before.Namespace, Name: before.Name, UID: string(before.UID)}
		ask.Before = spec
		if in := before.Status.ZoneRef; in != nil {
			ask.In = string(in.UID)
		} else {
			ask.Waits = &law.Waiting{Zone: &law.Ref{Namespace: before.Namespace, Name: spec.Zone}}
		}
	}
	if after != nil {
		spec, err := delegationSpec(after)
		if err != nil {
			return ask, status("delegations", after.Name, &law.Refusal{Kind: law.Invalid, Message: err.Error()})
		}
		ask.Ref = law.Ref{Namespace: after.Namespace, Name: after.Name, UID: string(after.UID)}
		ask.After = spec
	}
	ask.Terminating = l.terminates(ask.Namespace)
	return ask, nil
}

// DelegationRule is the rule of a Delegation as the law has it.
func DelegationRule(o *v1alpha1.Delegation) (law.Rule, error) {
	rule, err := lawRule("spec", o.Spec.Records, o.Spec.Zones)
	rule.Namespaces = slices.Clone(o.Spec.Namespaces)
	return rule, err
}

func delegationSpec(o *v1alpha1.Delegation) (*law.DelegationSpec, error) {
	rule, err := DelegationRule(o)
	return &law.DelegationSpec{Zone: o.Spec.ZoneRef.Name, Rule: rule}, err
}

// placeDelegation writes what was decided into the object's status.
func (l *Ledger) placeDelegation(o *v1alpha1.Delegation, p *law.DelegationPlacement) {
	o.Status.ObservedGeneration = o.Generation
	accepted := "False"
	if p.Zone != nil {
		accepted = "True"
		o.Status.ZoneRef = &v1alpha1.AdoptingZone{Namespace: p.Zone.Namespace, Name: p.Zone.Name, UID: types.UID(p.Zone.UID)}
	} else {
		o.Status.ZoneRef, o.Status.Records = nil, 0
	}
	// Ready is what tools wait for, whatever the kind.
	for _, condition := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionReady} {
		l.setCondition(&o.Status.Conditions, condition, accepted, p.Reason, p.Message, o.Generation)
	}
}

// PreviewDelegation is PreviewRecord for a Delegation.
func (l *Ledger) PreviewDelegation(ctx context.Context, before, after *v1alpha1.Delegation) error {
	if before != nil && after != nil && apiequality.Semantic.DeepEqual(before.Spec, after.Spec) {
		return nil
	}
	ask, err := l.delegationAsk(before, after)
	if err != nil {
		return err
	}
	w := &write{resource: "delegations", name: ask.Name, key: l.layout.Delegation(ask.Namespace, ask.Name), ask: func(seen *law.Seen) law.Outcome { return law.DecideDelegation(seen, ask) }}
	out, err := l.preview(paidBy(ctx, payer{ask.Namespace, 1}), w)
	if err != nil {
		return err
	}
	if out.Refusal != nil {
		return status("delegations", ask.Name, out.Refusal)
	}
	warn(ctx, out.Plan.Warnings)
	if after != nil {
		l.placeDelegation(after, out.Plan.Delegation)
	}
	return nil
}

// takenAtOnce is how many Delegations a cascade decides side by side: of a zone that goes they wait for nothing of each other.
const takenAtOnce = 8

// takeIn decides the Delegations anew that a work is about: those of the zone that goes, those that wait for a zone, and those for which others
// left no room in it, where one of these has changed. It comes before anything else of the work is collected, so that what waits is decided by their rules.
func (l *Ledger) takeIn(ctx context.Context, s *standing) error {
	for i := range s.work.Scans {
		scan := &s.work.Scans[i]
		if scan.Kind != law.ScanReferring && scan.Kind != law.ScanNamespaces {
			continue
		}
		names := map[string]bool{}
		var rev int64
		if s.work.Purge != "" {
			if err := l.eachPage(ctx, l.layout.Rules(s.work.Purge), &rev, func(key string, data []byte, _ int64) error {
				var rules law.NamespaceRules
				if err := layout.Decode(data, &rules); err != nil {
					return unreadable(key, err)
				}
				for _, r := range rules.List {
					names[r.Name] = true
				}
				return nil
			}); err != nil {
				return err
			}
		}
		waiting := l.layout.WaitingFor(scan.Target) + layout.WaitingDelegation + "/"
		if err := l.eachPage(ctx, waiting, &rev, func(key string, _ []byte, _ int64) error {
			names[key[strings.LastIndexByte(key, '/')+1:]] = true
			return nil
		}); err != nil {
			return err
		}
		// The work of a zone that is made decides all that waits for it after this; that of a Delegation what its own namespaces have.
		covered := s.work.Purge == "" && scan.Kind == law.ScanReferring
		for some := range slices.Chunk(slices.Sorted(maps.Keys(names)), takenAtOnce) {
			group, within := errgroup.WithContext(ctx)
			for _, name := range some {
				group.Go(func() error { return l.reconsiderDelegation(within, scan.Target.Namespace, name, covered) })
			}
			if err := group.Wait(); err != nil {
				return err
			}
			if err := s.beat(ctx, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// reconsiderDelegation decides a Delegation anew, in a transaction of its own. covered: what its rules may concern is decided after this.
func (l *Ledger) reconsiderDelegation(ctx context.Context, namespace, name string, covered bool) error {
	key := l.layout.Delegation(namespace, name)
	for {
		r, err := l.config.Client.Get(ctx, key)
		if err != nil || len(r.Kvs) == 0 {
			return err
		}
		o := &v1alpha1.Delegation{}
		if err := l.config.Delegations.decode(ctx, key, r.Kvs[0].Value, r.Kvs[0].ModRevision, o); err != nil {
			return fmt.Errorf("ledger: %s: %w", key, err)
		}
		ask, err := l.delegationAsk(o, o)
		if err != nil {
			return err
		}
		ask.Cascade, ask.Covered = true, covered
		tx, _ := l.delegationTx(ask, o, o, r.Kvs[0].ModRevision)
		out, err := l.commit(ctx, tx)
		if err != nil {
			return err
		}
		if out.ok {
			return nil
		}
	}
}

// scanNamespaces finds the records that a zone has of some namespaces, and what waits there for it: it reads what is in these
// namespaces, not what others have in the zone.
func (l *Ledger) scanNamespaces(ctx context.Context, s *standing, scan law.Scan, found func(candidate)) error {
	var rev int64
	for _, namespace := range scan.Namespaces {
		if err := l.each(ctx, l.layout.Record(namespace, ""), &rev, func(key string, data []byte, mod int64) error {
			o := &v1alpha1.Record{}
			if err := l.config.Records.decode(ctx, key, data, mod, o); err != nil {
				_, object, _ := l.layout.ObjectName(key)
				return s.leaveOut(ctx, law.Ref{Namespace: namespace, Name: object}, err)
			}
			in, waits, err := adopted(o)
			switch {
			case err != nil:
				return s.leaveOut(ctx, law.Ref{Namespace: namespace, Name: o.Name}, err)
			case in != nil && in.Zone.UID == scan.Zone, in == nil && waits.For(&scan):
				found(candidate{letter: layout.WaitingRecord, namespace: namespace, object: o.Name, uid: string(o.UID), created: o.CreationTimestamp.Unix()})
			}
			return nil
		}); err != nil {
			return err
		}
		if err := l.each(ctx, l.layout.Zone(namespace, ""), &rev, func(key string, data []byte, mod int64) error {
			o := &v1alpha1.Zone{}
			if err := l.config.Zones.decode(ctx, key, data, mod, o); err != nil {
				return fmt.Errorf("ledger: %s: %w", key, err)
			}
			if o.Status.FQDN != "" {
				return nil
			}
			spec, err := zoneSpec(o)
			if err != nil {
				return fmt.Errorf("ledger: %s: %w", key, err)
			}
			if spec.Waiting().For(&scan) {
				found(candidate{letter: layout.WaitingZone, namespace: namespace, object: o.Name, uid: string(o.UID), created: o.CreationTimestamp.Unix()})
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
