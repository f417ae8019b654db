// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apis/rrsets"
	"kubi.zone/kubizone/pkg/client/externaldns"
	"kubi.zone/kubizone/pkg/client/externaldns/contract"
	"kubi.zone/kubizone/pkg/dns/name"
)

const (
	// workers bounds concurrent requests, and restWorkers the dry runs after the answer.
	workers, restWorkers = 64, 4
	// An answer waits for the verdicts of fairShare candidates of each namespace. No more Events are written in a call.
	fairShare     = 64
	maxRemembered = 1 << 16
	keepTime      = time.Minute // of a snapshot
	// Refusals are cached briefly, because a rule may change, and admissions until external-dns sends the change.
	refusedTime, admittedTime = time.Minute, 10 * time.Minute
)

type provider struct {
	externaldns.Mapping
	records typed.KubizoneV1alpha1Interface
	central kubernetes.Interface
	local   coordinationclient.LeasesGetter
	*reporter
	lastSnapshot *snapshot
	verdicts     *cache.LRUExpireCache // decided candidates, by keyOf
	others       *cache.LRUExpireCache // decided, of objects that external-dns does not name, by RRset
	search       bool                  // for these objects
	user         string                // of external-dns; "" as long as unknown. Read and written by requests alone
}

type snapshot struct {
	existing externaldns.Existing
	// writable is true for a namespace of this cluster if Records may be written there; nil means all.
	writable map[string]bool
	// user is the provider's at the time of the list. Dry runs read their snapshot's after the answer, while the next
	// request lists again.
	user     string
	readAt   time.Time
	answered bool // external-dns has received the endpoints
}

// readExisting returns the owner's Records, from memory for keepTime. Requests are serialized, so lastSnapshot needs no
// lock.
func (p *provider) readExisting(ctx context.Context) (*snapshot, error) {
	if p.lastSnapshot != nil && time.Since(p.lastSnapshot.readAt) < keepTime {
		return p.lastSnapshot, nil
	}
	p.lastSnapshot = nil
	found := &snapshot{readAt: time.Now()}
	items, err := p.listRecords(ctx, found)
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	found.existing, p.lastSnapshot = p.ReadExisting(items), found
	return found, nil
}

// listRecords reads the owner's Records in all namespaces or, if that is forbidden, in each namespace with a
// RoleBinding.
func (p *provider) listRecords(ctx context.Context, found *snapshot) (items []v1alpha1.Record, err error) {
	options := metav1.ListOptions{LabelSelector: labels.Set{v1alpha1.LabelExternalDNS: p.Owner}.String()}
	var ofCluster metav1.ListOptions
	if p.Cluster != "" {
		ofCluster.LabelSelector = labels.Set{v1alpha1.LabelCluster: p.Cluster}.String()
	} else if all, err := p.records.Records(metav1.NamespaceAll).List(ctx, options); !apierrors.IsForbidden(err) {
		// One list is enough with a ClusterRole.
		return all.Items, err
	}

	// Lists of all namespaces are forbidden or would have other clusters' Records: list each namespace.
	namespaces, err := p.central.CoreV1().Namespaces().List(ctx, ofCluster)
	if err != nil {
		return nil, err
	}
	lists := make([]*v1alpha1.RecordList, len(namespaces.Items))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i, namespace := range namespaces.Items {
		group.Go(func() error {
			list, err := p.records.Records(namespace.Name).List(groupCtx, options)
			if apierrors.IsForbidden(err) {
				return nil // no RoleBinding, so no Records of this owner
			}
			lists[i] = list
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}

	// A namespace whose list was forbidden is not writable. Its endpoints get the command for the administrator.
	found.writable = map[string]bool{}
	for i, list := range lists {
		found.writable[namespaces.Items[i].Name] = list != nil
		if list != nil {
			items = append(items, list.Items...)
		}
	}
	if p.user == "" { // for messages; after an error the next list asks again
		review, err := p.central.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{},
			metav1.CreateOptions{})
		if err == nil {
			p.user = review.Status.UserInfo.Username
		}
	}
	found.user = p.user
	return items, nil
}

// checkNamespace returns nil if Records may be written in the namespace. Otherwise the error has the command by which
// an administrator allows that, for the Event.
func (p *provider) checkNamespace(s *snapshot, namespace string) error {
	isWritable, exists := s.writable[namespace]
	if isWritable || s.writable == nil {
		return nil
	}
	if !exists && p.Cluster != "" {
		return fmt.Errorf("namespace %[1]q of the central Kubizone is not there for cluster %[2]q; its administrator makes it by: "+
			"kubectl create namespace %[1]s && kubectl label namespace %[1]s %[3]s=%[2]s", namespace, p.Cluster, v1alpha1.LabelCluster)
	}
	return fmt.Errorf("external-dns may not write Records in namespace %[1]s; its administrator allows it by: "+
		"kubectl create rolebinding -n %[1]s kubizone-external-dns --clusterrole=kubizone-external-dns-writer --user=%[2]s",
		namespace, cmp.Or(s.user, "USER"))
}

func (p *provider) makeCandidates(s *snapshot, endpoints []*contract.Endpoint) []*externaldns.Candidate {
	all := p.MakeCandidates(s.existing, endpoints)
	for _, c := range all {
		if c.Err == nil {
			c.Err = p.checkNamespace(s, c.Namespace)
		}
	}
	return all
}

type adjustment struct {
	*snapshot
	wanted externaldns.Wanted
}

func (p *provider) lookUpVerdict(a *adjustment, c *externaldns.Candidate) *externaldns.Candidate {
	if a.existing.NeedsVerdict(c) {
		if known, ok := p.verdicts.Get(keyOf(a, c)); ok {
			return known.(*externaldns.Candidate)
		}
	}
	return c
}

// decideAll dry-runs the candidates that have no verdict. It closes fairDone after the first candidates of each
// namespace, so that the answer does not wait for a large namespace.
func (p *provider) decideAll(ctx context.Context, a *adjustment, fairDone chan<- struct{}) {
	var undecided []*externaldns.Candidate
	for _, candidates := range a.wanted {
		for _, c := range candidates {
			// No verdict of an earlier cycle, or a Record of the name has changed since.
			if a.existing.NeedsVerdict(p.lookUpVerdict(a, c)) {
				undecided = append(undecided, c)
			}
		}
	}
	// An omitted object counts for the namespace whose endpoint has asked, so that a tenant pays for its own searches.
	fairCount := orderFairly(undecided, func(c *externaldns.Candidate) string { return cmp.Or(c.Asker, c.Namespace) })
	workqueue.ParallelizeUntil(ctx, workers, fairCount, func(i int) { p.decideOne(ctx, a, *undecided[i]) })
	// The answer does not wait again for the search for a name that is still refused.
	refused, hasNew := p.listRefused(a)
	// No name is searched for the first time: answer before the search, which repeats earlier searches.
	if !hasNew {
		close(fairDone)
	}
	p.decideOthers(ctx, a, refused)
	if hasNew {
		close(fairDone)
	}
	// With few workers, because external-dns has its answer.
	workqueue.ParallelizeUntil(ctx, restWorkers, len(undecided)-fairCount, func(i int) { p.decideOne(ctx, a, *undecided[fairCount+i]) })
}

// decideOne stores the verdict about a candidate, or none after a temporary error.
func (p *provider) decideOne(ctx context.Context, a *adjustment, c externaldns.Candidate) {
	key := keyOf(a, &c)
	isOmitted := c.Asker != ""
	mayBeJoined := isOmitted || len(c.Endpoint.Targets) > 1
	if mayBeJoined && !p.keepOwnTargets(ctx, &c) {
		return // the Record stays, and the next cycle reads the object again
	}
	if a.existing.NeedsVerdict(&c) {
		if err := p.askServer(ctx, a, &c); err != nil {
			why := readRefusal(err)
			if why == "" {
				// The error may pass: no verdict is stored, and the next cycle asks again.
				return
			}
			c.Err = errors.New(why)
		}
	}

	c.Admitted = c.Err == nil
	expiry := admittedTime
	if isOmitted || !c.Admitted { // an omitted object may change without external-dns
		expiry = refusedTime
	}
	p.verdicts.Add(key, &c, expiry)
}

// keepOwnTargets keeps the targets in the candidate's object, because external-dns joins targets of several objects.
func (p *provider) keepOwnTargets(ctx context.Context, c *externaldns.Candidate) (isDecided bool) {
	texts, err := p.readTexts(ctx, c)
	isUnserved := errors.Is(err, errNoKind) || apierrors.IsNotFound(err) && apierrors.IsUnexpectedServerError(err)
	isGone := apierrors.IsNotFound(err) && !isUnserved
	switch {
	case err == nil, isGone, isUnserved && c.Asker == "":
		c.KeepTargets(texts) // no texts if the object is gone or no API serves its kind
	case apierrors.IsForbidden(err):
		c.Err = fmt.Errorf("the object cannot be read, so it is unknown which targets are its own; bind the ClusterRole "+
			"kubizone-external-dns: %w", err)
	default:
		return false
	}
	return true
}

// orderFairly sorts elements into rounds: the first element of each namespace, then the second of each, and so on. It
// returns the number of elements in the first fairShare rounds, or in more rounds if half of the namespaces have more.
func orderFairly[T any](elements []T, namespaceOf func(T) string) (fairCount int) {
	counts, rounds := map[string]int{}, [][]T{}
	for _, element := range elements {
		namespace := namespaceOf(element)
		// The namespace has an element in each round so far, so a further round begins.
		if counts[namespace] == len(rounds) {
			rounds = append(rounds, nil)
		}
		rounds[counts[namespace]] = append(rounds[counts[namespace]], element)
		counts[namespace]++
	}
	copy(elements, slices.Concat(rounds...))
	sizes := slices.Sorted(maps.Values(counts))
	for i, round := range rounds {
		// Half of the namespaces have no more elements than the median, and are complete after these rounds.
		if i < max(fairShare, sizes[(len(sizes)-1)/2]) {
			fairCount += len(round)
		}
	}
	return fairCount
}

// keyOf returns the key of a verdict. It has the UID and version of each Record that the write would change, so that a
// change of a Record makes its verdicts invalid.
func keyOf(a *adjustment, c *externaldns.Candidate) string {
	text := fmt.Sprint(prefixOf(c), c.Resource, "|", c.Asker, "|", c.Record.Spec.Values, ptr.Deref(c.Record.Spec.TTL, 0))
	for _, r := range append(a.existing.Replaced(c, a.wanted), a.existing[c.Key]) {
		if r != nil {
			text += "|" + string(r.UID) + r.ResourceVersion
		}
	}
	return text
}

func prefixOf(c *externaldns.Candidate) string { return c.Namespace + "|" + c.Key.String() + "|" }

// askServer dry-runs the write of a candidate: an update if the Record is there, otherwise the creation with the
// deletion of the Records that it replaces. The error is the server's.
func (p *provider) askServer(ctx context.Context, a *adjustment, c *externaldns.Candidate) error {
	candidates := []*externaldns.Candidate{c}
	planned := &change{namespace: c.Namespace, create: candidates, remove: a.existing.Replaced(c, a.wanted)}
	if current := a.existing[c.Key]; current != nil && current.Namespace == c.Namespace {
		planned = &change{namespace: c.Namespace, update: candidates}
	}
	if failed := p.writeChange(ctx, a.existing, planned, []string{metav1.DryRunAll}); len(failed) > 0 {
		return failed[0].err
	}
	return nil
}

// readAnswer returns the API's refusal of a single change, or nil if the error concerns all changes.
func readAnswer(err error) *metav1.Status {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || apierrors.IsUnexpectedServerError(err) {
		return nil
	}
	answer := status.Status()
	// A wrong token (401) or an overloaded server (5xx) fails all changes, not this one.
	if answer.Code/100 != 4 || slices.Contains([]int32{http.StatusUnauthorized, http.StatusRequestTimeout}, answer.Code) {
		return nil
	}
	return &answer
}

// readRefusal returns the server's message if the server would refuse the change again, or "". A conflict may pass; an
// existing Record of another owner does not.
func readRefusal(err error) string {
	status := readAnswer(err)
	if status == nil || apierrors.IsConflict(err) || apierrors.IsTooManyRequests(err) {
		return ""
	}
	return cmp.Or(refusal.Messages(refusal.OfStatus(*status)), http.StatusText(int(status.Code)))
}

// change has the writes for a DNS name in a namespace. Types that exclude each other change together.
type change struct {
	namespace      string
	create, update []*externaldns.Candidate
	remove         []*v1alpha1.Record
}

type failure struct {
	candidate *externaldns.Candidate // made from the Record after a failed deletion
	err       error
}

// applyChanges writes the changes of external-dns, and continues after failures. It returns the candidates that the
// server refused. Only invalid endpoints and changes without an answer are an error, because external-dns then repeats
// the cycle for all objects.
func (p *provider) applyChanges(ctx context.Context, changes contract.Changes) (refused []externaldns.Candidate, err error) {
	existing, err := p.readExisting(ctx)
	if err != nil {
		return nil, err
	}
	p.lastSnapshot = nil // obsolete after the writes

	// Write the changes of each name by itself, so that a refusal stops no other.
	planned, refused, errs := p.sortChanges(existing, changes)
	orderFairly(planned, func(x *change) string { return x.namespace })
	failed := make([][]failure, len(planned))
	workqueue.ParallelizeUntil(ctx, workers, len(planned), func(i int) {
		failed[i] = p.writeChange(ctx, existing.existing, planned[i], nil)
	})
	for _, fault := range slices.Concat(failed...) {
		why := readRefusal(fault.err)
		switch {
		case why != "":
			fault.candidate.Err = errors.New(why)
			refused = append(refused, *fault.candidate)
		case readAnswer(fault.err) != nil:
			// A conflict, or a budget that is used up (429): external-dns sends the change again.
			klog.V(1).InfoS("comes with a later cycle", "object", fault.candidate.Resource.String(), "why", fault.err)
		default:
			errs = append(errs, fault.err)
		}
	}

	if len(refused) > 0 {
		// The dry run had admitted these, and its verdicts would admit them again in the next cycle.
		p.refuseAdmitted(refused)
	}
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return refused, fmt.Errorf("not all is done, the rest comes with the next cycle: %w", err)
	}
	return refused, nil
}

// refuseAdmitted turns the verdicts about refused RRsets into refusals. Keys of verdicts begin with namespace and RRset
// (prefixOf).
func (p *provider) refuseAdmitted(refused []externaldns.Candidate) {
	reasons := map[string]error{}
	for _, c := range refused {
		reasons[prefixOf(&c)] = c.Err
	}
	for _, key := range p.verdicts.Keys() {
		parts := strings.SplitAfterN(key.(string), "|", 3)
		reason := reasons[parts[0]+parts[1]]
		if reason == nil {
			continue
		}
		if known, has := p.verdicts.Get(key); has {
			// A copy, because dry runs after an answer still read the candidate.
			c := *known.(*externaldns.Candidate)
			c.Err, c.Admitted = reason, false
			p.verdicts.Add(key, &c, refusedTime)
		}
	}
}

// sortChanges groups the changes of external-dns by namespace and DNS name. refused are endpoints without a writable
// namespace, or with their Record in another. wrong are errors of invalid endpoints.
func (p *provider) sortChanges(s *snapshot, changes contract.Changes) (all []*change, refused []externaldns.Candidate, wrong []error) {
	byName := map[string]*change{}
	changeOf := func(namespace string, fqdn name.Name) *change {
		key := namespace + "/" + fqdn.String()
		if byName[key] == nil {
			byName[key] = &change{namespace: namespace}
			all = append(all, byName[key])
		}
		return byName[key]
	}

	// 1. Endpoints to create or update. Which of them external-dns means does not count: the Record is there or not.
	wanted, texts, err := externaldns.SplitTexts(slices.Concat(changes.UpdateNew, changes.Create))
	if err != nil {
		wrong = append(wrong, err)
	}
	for _, c := range p.makeCandidates(s, wanted) {
		current := s.existing[c.Key]
		// The Record of a Service that has moved from team-a to team-b: the name is free after the deletion.
		if c.Err == nil && current != nil && current.Namespace != c.Namespace {
			c.Err = fmt.Errorf("its Record is in another namespace than %s, and is deleted first", c.Namespace)
		}
		if c.Err != nil {
			refused = append(refused, *c)
			continue
		}
		s.existing.KeepTexts(c, texts[c.Name])
		planned := changeOf(c.Namespace, c.Name)
		if current == nil {
			planned.create = append(planned.create, c)
		} else {
			planned.update = append(planned.update, c)
		}
	}

	// 2. Endpoints to delete. Registry texts are part of a Record, and go with the Record.
	gone, _, _ := externaldns.SplitTexts(changes.Delete)
	for _, e := range gone {
		key, err := e.Key()
		if err != nil {
			wrong = append(wrong, err)
		}
		if r := s.existing[key]; r != nil {
			planned := changeOf(r.Namespace, key.Name)
			planned.remove = append(planned.remove, r)
		}
	}
	return all, refused, wrong
}

// writeChange writes a change, or dry-runs it. If a type replaces another, for example a CNAME an A, both writes are a
// transaction, so that the name always has a type.
func (p *provider) writeChange(ctx context.Context, existing externaldns.Existing, planned *change, dryRun []string) (failed []failure) {
	writer := rrsets.Writer{Client: p.records, Namespace: planned.namespace, Manager: externaldns.FieldManager, DryRun: dryRun}
	note := func(c *externaldns.Candidate, err error) {
		if err != nil {
			failed = append(failed, failure{c, fmt.Errorf("%s: %w", c.Key.String(), err)})
		}
	}
	for _, c := range planned.update {
		_, err := writer.WriteAll(ctx, rrsets.Change{Before: existing[c.Key], After: c.Record})
		note(c, err)
	}

	var removals, creations []rrsets.Change
	for _, r := range planned.remove {
		removed := *r
		removed.ResourceVersion = "" // in any state
		removals = append(removals, rrsets.Change{Before: &removed})
	}
	for _, c := range planned.create {
		creations = append(creations, rrsets.Change{After: c.Record})
	}
	if len(creations) > 0 && len(removals) > 0 {
		// The CNAME leaves as the A arrives: resolvers never see www.example.org. without an address.
		_, err := writer.WriteAll(ctx, slices.Concat(removals, creations)...)
		note(planned.create[0], err)
		return failed
	}
	// Each in a request of its own: a refused Record leaves the others of the name.
	for i, r := range planned.remove {
		note(p.candidateOf(r), deleteRecord(ctx, writer, removals[i]))
	}
	for i, c := range planned.create {
		note(c, createRecord(ctx, writer, creations[i]))
	}
	return failed
}

func (p *provider) candidateOf(r *v1alpha1.Record) *externaldns.Candidate {
	c := &externaldns.Candidate{Endpoint: externaldns.ReadEndpoint(r), Namespace: r.Namespace}
	c.Key, _ = c.Endpoint.Key() // valid for an existing Record
	c.Resource, _ = p.ResourceOf(r)
	return c
}

// deleteRecord succeeds if the Record is absent already.
func deleteRecord(ctx context.Context, writer rrsets.Writer, deletion rrsets.Change) error {
	deletion.Separate = true
	_, err := writer.WriteAll(ctx, deletion)
	if apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err) {
		return nil
	}
	return err
}

// createRecord fails if no zone takes the Record.
func createRecord(ctx context.Context, writer rrsets.Writer, creation rrsets.Change) error {
	creation.Separate = true
	made, err := writer.WriteAll(ctx, creation)
	if err != nil {
		return err
	}
	return checkAdopted(made)
}

func checkAdopted(made *v1alpha1.Record) error {
	if made.Status.ZoneRef != nil {
		return nil
	}
	if adopted := meta.FindStatusCondition(made.Status.Conditions, v1alpha1.ConditionAdopted); adopted != nil {
		return apierrors.NewBadRequest(adopted.Message)
	}
	return apierrors.NewBadRequest("no zone takes the name")
}
