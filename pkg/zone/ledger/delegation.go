// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
)

// One transaction writes a Delegation, the copies of its rule under rules/, the unchanged Zone, to give it a new
// revision, and an outbox item to decide the affected Records again.

func (l *Ledger) Delegations(stored storage.Interface) storage.Interface {
	return &objectStorage[v1alpha1.Delegation, *v1alpha1.Delegation]{Interface: stored, mayTouch: l.refuseSuperseded,
		begin: func() (committer[v1alpha1.Delegation, *v1alpha1.Delegation], func()) {
			return l.commitDelegation, func() {}
		}}
}

func delegationUnchanged(before, after *v1alpha1.Delegation) bool {
	return apiequality.Semantic.DeepEqual(before.Spec, after.Spec) &&
		before.Annotations[v1alpha1.AnnotationReleaseNow] == after.Annotations[v1alpha1.AnnotationReleaseNow]
}

// commitDelegation decides a try to write a Delegation, and commits it with the copies of its rule. After the commit,
// the caller gets the Warnings.
func (l *Ledger) commitDelegation(ctx context.Context, w *objectWrite[v1alpha1.Delegation, *v1alpha1.Delegation]) (*v1alpha1.Delegation,
	commit.Outcome, error) {
	if w.before != nil && w.after != nil && delegationUnchanged(w.before, w.after) { // needs no decision
		key := l.mem.Layout.Delegation(w.after.Namespace, w.after.Name)
		data, err := l.mem.Delegations.Encode(ctx, key, w.after)
		if err != nil {
			return nil, commit.Outcome{}, err
		}
		out, err := l.com.WriteObjectOnly(ctx, key, w.expected, data)
		return nil, out, err
	}

	// Decide and commit.
	ask, err := l.delegationAsk(w.before, w.after)
	if err != nil {
		return nil, commit.Outcome{}, err
	}
	tx, placed := l.outbox.DelegationTx(ask, w.before, w.after, w.expected)
	tx.By = commit.User(ctx)
	// Before the commit, since a cascade may end the child zones at once.
	existing := l.childrenOf(ask.InZone)
	out, err := l.com.Commit(ctx, tx)
	if err != nil || !out.OK {
		return nil, out, err
	}
	// Warn of Records and zones that lose their rule.
	commit.Warn(ctx, tx.Plan.Warnings...)
	l.warnOfDelegation(ctx, &ask, tx.Plan, existing, out.Rev)
	return *placed, out, nil
}

func (l *Ledger) delegationAsk(before, after *v1alpha1.Delegation) (zones.DelegationInput, error) {
	ask, err := objects.DelegationAsk(before, after)
	if err != nil {
		return ask, commit.Status("delegations", ask.Name, err)
	}
	ask.Now, ask.WorkID, ask.Terminating = l.mem.Now(), etcd.NewID(), l.outbox.IsTerminating(ask.Namespace)
	return ask, nil
}

// PreviewDelegation is the dry run of a Delegation's write: it sets after.Status and sends the Warnings of the write,
// but commits nothing. The argument before is nil for a creation, after for a deletion.
func (l *Ledger) PreviewDelegation(ctx context.Context, before, after *v1alpha1.Delegation) error {
	if before != nil && after != nil && delegationUnchanged(before, after) {
		// Only metadata changes, which needs no decision.
		return nil
	}
	ask, err := l.delegationAsk(before, after)
	if err != nil {
		return err
	}

	key := l.mem.Layout.Delegation(ask.Namespace, ask.Name)
	w := &commit.Write{Object: commit.Object{Resource: "delegations", Name: ask.Name, Key: key},
		Decide: func(seen *law.Facts) law.Outcome { return zones.DecideDelegation(seen, ask) }}
	out, err := l.previewPaid(ctx, ask.Namespace, w)
	if err != nil {
		return err
	}
	if out.Refusal != nil {
		return commit.Status("delegations", ask.Name, out.Refusal)
	}

	commit.Warn(ctx, out.Plan.Warnings...)
	l.warnOfDelegation(ctx, &ask, out.Plan, l.childrenOf(ask.InZone), 0)
	if after != nil {
		l.placer.PlaceDelegation(after, out.Plan.Delegation)
	}
	return nil
}
