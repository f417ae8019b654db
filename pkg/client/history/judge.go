// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apis/rrsets"
	"kubi.zone/kubizone/pkg/client/load"
)

const fewRecords = 20

// ReadPresent reads the Records written by steps, and their namespaces except ownNamespace, the zone's, which is no
// younger than the zone.
func (r *Reader) ReadPresent(ctx context.Context, undone []v1alpha1.HistoryStep, ownNamespace string) (now Present, err error) {
	now = Present{Records: map[types.NamespacedName]*v1alpha1.Record{}, Unreadable: map[string]string{}, Began: map[string]time.Time{}}
	for namespace, names := range Namespaces(undone) {
		records := r.Client.Records(namespace)
		add := func(object string, x *v1alpha1.Record) {
			now.Records[types.NamespacedName{Namespace: namespace, Name: object}] = x
		}
		if len(names) > fewRecords {
			err = load.EachItem(ctx, func(ctx context.Context, options metav1.ListOptions) (*v1alpha1.RecordList, error) {
				return rrsets.Retry(ctx, func() (*v1alpha1.RecordList, error) { return records.List(ctx, options) })
			}, metav1.ListOptions{}, func(x *v1alpha1.Record) error {
				add(x.Name, x)
				return nil
			})
		} else {
			for _, object := range names {
				var x *v1alpha1.Record
				x, err = rrsets.Retry(ctx, func() (*v1alpha1.Record, error) { return records.Get(ctx, object, metav1.GetOptions{}) })
				if apierrors.IsNotFound(err) {
					err = nil
					continue
				}
				if err != nil {
					break
				}
				add(object, x)
			}
		}
		if apierrors.IsForbidden(err) {
			now.Unreadable[namespace] = err.Error()
		} else if err != nil {
			return now, fmt.Errorf("records of namespace %s: %w", namespace, err)
		}
		if namespace != ownNamespace {
			if now.Began[namespace], err = r.readBegin(ctx, namespace); err != nil {
				return now, fmt.Errorf("namespace %s: %w", namespace, err)
			}
		}
	}
	return now, nil
}

// readBegin returns the creation of a namespace, or zero if the server has no namespaces (kubizone up), or does not let
// the user read this one.
func (r *Reader) readBegin(ctx context.Context, namespace string) (time.Time, error) {
	text, err := rrsets.Retry(ctx, func() ([]byte, error) {
		return r.Client.RESTClient().Get().AbsPath("/api/v1/namespaces", namespace).SetHeader("Accept", "application/json").DoRaw(ctx)
	})
	if isAnswer(err) {
		return time.Time{}, nil
	}
	object := metav1.PartialObjectMetadata{}
	if err == nil {
		err = json.Unmarshal(text, &object)
	}
	return object.CreationTimestamp.Time, err
}

// Judge dry-runs a plan's changes. A refused change of another namespace becomes a Left.
func (r *Reader) Judge(ctx context.Context, p *Plan) error {
	if p.Refused > 0 {
		return nil
	}
	w := setWriter{Reader: r, plan: p, dryRun: []string{metav1.DryRunAll}, awaits: p.awaits, closed: map[string]string{}}
	for _, phase := range p.orderSets(false) {
		if err := eachSet(ctx, phase, w.writeSet); err != nil {
			return err
		}
	}
	p.leaveRefused()
	for i := range p.Changes {
		if len(p.Changes[i].Refused) > 0 {
			p.Refused++
		}
	}
	return nil
}

// Run writes a plan accepted by Judge, several change sets (transactions) at once. After a refusal unforeseen by Judge,
// Run leaves the change, or returns ErrStopped. The sets written so far stay.
func (r *Reader) Run(ctx context.Context, p *Plan) error {
	if p.Refused > 0 {
		return ErrStopped{"the plan has refusals"}
	}
	// A deleted Zone comes before its Records.
	if err := r.runObjects(ctx, p); err != nil {
		return err
	}
	defer p.leaveRefused()
	// A phase ends before the next begins. The first phases free names for other namespaces.
	w := setWriter{Reader: r, plan: p, closed: map[string]string{}}
	for _, phase := range p.orderSets(true) {
		if err := eachSet(ctx, phase, w.writeSet); err != nil {
			return err
		}
	}
	return nil
}

// leaves reports whether the revert goes on without a refused change: one of another namespace, or one of the owner
// excluded by data left by the revert, such as a tenant's new CNAME at the owner's former name. Otherwise a tenant
// could stop the owner's revert by a single Record.
func (p *Plan) leaves(c *Reversal) bool {
	return p.zoneNamespace != "" && (!p.decides(c.Namespace) || c.Namespace == p.zoneNamespace && c.conflicts)
}

// decides reports whether a refusal in a namespace stops the revert.
func (p *Plan) decides(namespace string) bool {
	return p.zoneNamespace == "" || namespace == p.zoneNamespace || namespace == p.namespace
}

// leaveRefused moves refused changes to Left, unless they stop the revert. If a change waited for a moved change to
// free its name, its liftable refusals count.
func (p *Plan) leaveRefused() {
	for {
		stays := map[string]bool{} // by "NAMESPACE NAME"
		p.Changes = slices.DeleteFunc(p.Changes, func(c Reversal) bool {
			if len(c.Refused) == 0 || !p.leaves(&c) {
				return false
			}
			if before := c.change.Before; before != nil {
				stays[c.Namespace+" "+before.Status.FQDN] = true
			}
			left := Left{Namespace: c.Namespace, Name: c.Name, Text: c.Op + " " + c.Text, Writer: c.Undoes.User(),
				Reason: "the server refuses it: " + strings.Join(c.Refused, "; "), missing: p.isOwn(c.Namespace)}
			// A CNAME by another's field manager excludes an address of the owner, for example.
			if left.missing && slices.ContainsFunc(p.Left, func(x Left) bool { return x.renewed != "" && x.renewed == c.FQDN }) {
				left.Reason += fmt.Sprintf("; kubectl kubizone revert %s --to %s --name %s --include-managed takes the name back",
					strings.TrimSuffix(p.FQDN, "."), p.moment(), c.FQDN)
			}
			p.Left = append(p.Left, left)
			return true
		})
		if len(stays) == 0 {
			break
		}
		for i := range p.Changes {
			if c := &p.Changes[i]; stays[c.After+" "+c.FQDN] && len(c.liftable) > 0 {
				c.Refused, c.conflicts, c.liftable = append(c.Refused, refusal.Messages(c.liftable)), len(c.Refused) == 0, nil
			}
		}
	}
	p.findGaps()
}

func eachSet(ctx context.Context, phase [][]write, do func(ctx context.Context, set []write) error) error {
	group := errgroup.Group{}
	group.SetLimit(rrsets.MaxSets)
	var failed atomic.Bool
	for _, set := range phase {
		if failed.Load() {
			break
		}
		group.Go(func() error {
			if failed.Load() {
				return nil
			}
			err := do(ctx, set)
			if err != nil {
				failed.Store(true)
			}
			return err
		})
	}
	return group.Wait()
}

// write is a request to the server for a Reversal (a Record to revert). A Reversal has two writes if the Record's
// present DNS name goes back to another namespace: an early deletion to free the name, and a later creation. Likewise
// if labels or annotations go: an early patch, and a later apply.
type write struct {
	*Reversal // gets the refusals
	change    rrsets.Change
	// counts is false for the early write, so that a Reversal is counted once.
	counts bool
}

// orderSets returns change sets by phase. With split, the first phases delete the Records whose names pass to other
// namespaces, and remove labels and annotations.
func (p *Plan) orderSets(split bool) (out [][][]write) {
	type phase struct {
		last      bool
		namespace string
	}
	passes := map[string]bool{} // by "NAMESPACE NAME" of the former namespace
	for i := range p.Changes {
		if c := &p.Changes[i]; c.After != "" {
			passes[c.After+" "+c.FQDN] = true
		}
	}
	groups := map[phase][]write{}
	var order []phase
	add := func(last bool, w write) {
		at := phase{last, w.Namespace}
		if groups[at] == nil {
			order = append(order, at)
		}
		groups[at] = append(groups[at], w)
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		before, after := c.change.Before, c.change.After
		switch {
		case before == nil || !split:
			add(true, write{c, c.change, true})
		case !passes[c.Namespace+" "+before.Status.FQDN]:
			// Labels go before the spec goes back: after a stop in between, a repetition still plans the Record.
			if after != nil {
				if patch := dropOver(after, before); patch != nil {
					add(false, write{c, rrsets.Change{Before: before, After: after, PatchJSON: patch}, false})
				}
			}
			add(true, write{c, c.change, true})
		case after == nil:
			add(false, write{c, c.change, true})
		default:
			add(false, write{c, rrsets.Change{Before: before}, false})
			add(true, write{c, rrsets.Change{After: after}, true})
		}
	}
	rank := func(x phase) int { // the owner's Records do not wait for those of others
		switch {
		case !x.last:
			return 0
		case p.decides(x.namespace):
			return 1
		}
		return 2
	}
	slices.SortStableFunc(order, func(x, y phase) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), strings.Compare(x.namespace, y.namespace))
	})
	for _, at := range order {
		out = append(out, rrsets.Pages(groups[at], func(w write) *rrsets.Change { return &w.change }))
	}
	return out
}

// setWriter writes or dry-runs the change sets of a plan.
type setWriter struct {
	*Reader
	plan   *Plan
	dryRun []string // nil to write
	awaits bool     // the Zone is not created yet

	// mu guards plan.Written and closed: the namespaces whose change sets the server refuses, with the answer. The rest
	// of such a namespace is not tried, since each try may last seconds.
	mu     sync.Mutex
	closed map[string]string
}

// writeSet adds the refusals to the changes of the set. It returns an error if the server does not answer, and
// ErrStopped after a decisive refusal.
func (w *setWriter) writeSet(ctx context.Context, set []write) error {
	namespace := set[0].Namespace
	w.mu.Lock()
	reason := w.closed[namespace]
	w.mu.Unlock()
	if reason == "" {
		err := w.sendSet(ctx, set)
		switch {
		case err == nil:
		case apierrors.IsForbidden(err), !w.plan.decides(namespace) && isAnswer(err):
			reason = err.Error()
			w.mu.Lock()
			w.closed[namespace] = reason
			w.mu.Unlock()
		default:
			return fmt.Errorf("change set of namespace %s: %w", namespace, err)
		}
	}
	for _, c := range set {
		if reason != "" {
			c.Refused = []string{reason}
		}
		if len(w.dryRun) == 0 && len(c.Refused) > 0 && !w.plan.leaves(c.Reversal) {
			return ErrStopped{fmt.Sprintf("record %s/%s: %s", c.Namespace, c.Name, strings.Join(c.Refused, "; "))}
		}
	}
	return nil
}

// isAnswer reports a refusal of the whole request, such as for too many writes of a namespace (429).
func isAnswer(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code/100 == 4 && !apierrors.IsUnauthorized(err)
}

func (w *setWriter) sendSet(ctx context.Context, set []write) error {
	writer := rrsets.Writer{Client: w.Client, Namespace: set[0].Namespace, Manager: FieldManager, Force: true, DryRun: w.dryRun,
		Replan: func(_ context.Context, i int, now *v1alpha1.Record) (*rrsets.Change, error) {
			return set[i].replanWrite(now), nil
		}}
	changes := make([]rrsets.Change, len(set))
	for i := range set {
		changes[i] = set[i].change
	}
	outcomes, err := writer.Write(ctx, changes)
	if err != nil {
		return err
	}
	written := 0
	for i, o := range outcomes {
		c := set[i]
		if c.counts && len(w.dryRun) == 0 && o.Operation != "" && o.Operation != v1alpha1.OperationUnchanged {
			written++
		}
		refused := slices.Clone(o.Refusals)
		if len(w.dryRun) > 0 && c.After != "" {
			c.liftable = slices.DeleteFunc(slices.Clone(refused), func(one refusal.Refusal) bool { return !isFreed(one) })
			refused = slices.DeleteFunc(refused, isFreed)
		}
		if w.awaits {
			refused = slices.DeleteFunc(refused, isOfZone)
		}
		if len(refused) > 0 {
			c.conflicts = !slices.ContainsFunc(refused, func(one refusal.Refusal) bool { return !isConflict(one) })
			c.Refused = append(c.Refused, refusal.Messages(refused))
		}
	}
	w.mu.Lock()
	w.plan.Written += written
	w.mu.Unlock()
	return nil
}

// isConflict reports a refusal by other data at or above the name.
func isConflict(one refusal.Refusal) bool {
	return isFreed(one) || one.Reason == v1alpha1.ReasonBelowZoneCut || one.Rule == "S5.7"
}

// isFreed reports a refusal which another namespace's write may lift.
func isFreed(one refusal.Refusal) bool {
	switch one.Reason {
	case v1alpha1.ReasonNameHeld, v1alpha1.ReasonCNAMEConflict:
		return true
	case v1alpha1.ReasonLimitExceeded: // of an RRset, not of the namespace
		return one.Field == "spec.values"
	}
	return one.Rule == "S5.6" // a CNAME, or data beside one
}

func isOfZone(one refusal.Refusal) bool {
	switch one.Reason {
	case v1alpha1.ReasonDelegationWithdrawn, v1alpha1.ReasonZoneNotFound, v1alpha1.ReasonBelowZoneCut:
		return true
	case metav1.CauseTypeForbidden:
		return one.Field == "spec.domainName"
	}
	return strings.HasPrefix(one.Rule, "S2.") || strings.HasPrefix(one.Rule, "S4.") || isFreed(one)
}

// replanWrite returns the write for a Record that has changed since the plan, nil if none is needed or allowed. A user
// may have added a label meanwhile: the write goes on. A user may have written other values: these stay.
func (w *write) replanWrite(now *v1alpha1.Record) *rrsets.Change {
	want, before := w.change.After, w.change.Before
	if sameState(now, want) {
		return nil
	}
	if now != nil && sameState(now, before) && now.UID == before.UID {
		next := w.change
		if next.Before = now; want != nil && next.PatchJSON == nil {
			next.AppliedJSON = applyOver(want, now)
		}
		return &next
	}
	w.Refused = append(w.Refused, "it was written since the plan: look at a new plan")
	return nil
}
