// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"

	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/externaldns"
)

const (
	// workers is how many requests are under way at once: writes into one zone share a transaction. restWorkers is
	// that of questions for which no answer waits.
	workers, restWorkers = 64, 4
	// minShare is how many verdicts of each namespace an answer waits for at least.
	minShare = 64
	// maxRemembered bounds each cache.
	maxRemembered = 1 << 16
	// A refusal is asked about anew after refusedTime, since a rule may have changed; admittedTime is that of what has
	// not come back as a change, because it is one of very many.
	refusedTime, admittedTime = time.Minute, 10 * time.Minute
	// rightTime is how long a RoleBinding that comes or goes may go unnoticed.
	rightTime = 30 * time.Second
)

// provider reads and writes Records, in one request of external-dns at a time.
type provider struct {
	externaldns.Mapping
	records typed.KubizoneV1alpha1Interface
	central kubernetes.Interface
	*teller
	// kept is the last list; nil after a change.
	kept *snapshot
	// verdicts are by candidate, rights by namespace.
	verdicts, rights *cache.LRUExpireCache
}

func newProvider(m externaldns.Mapping, records typed.KubizoneV1alpha1Interface, central, local kubernetes.Interface,
	recorder events.EventRecorder) *provider {
	return &provider{Mapping: m, records: records, central: central, teller: newTeller(local, recorder),
		verdicts: cache.NewLRUExpireCache(maxRemembered), rights: cache.NewLRUExpireCache(maxRemembered)}
}

// snapshot is what stands.
type snapshot struct {
	standing externaldns.Standing
	// namespaces are those that a central Kubizone has for this cluster.
	namespaces map[string]bool
	at         time.Time
	answered   bool
}

// readStanding is the last list, or a new one.
func (p *provider) readStanding(ctx context.Context) (*snapshot, error) {
	if p.kept != nil && time.Since(p.kept.at) < keepTime {
		return p.kept, nil
	}
	return p.listStanding(ctx)
}

// listStanding reads the Records that are ours: of all namespaces in one request where that is allowed, else of each in
// which a RoleBinding allows it.
func (p *provider) listStanding(ctx context.Context) (*snapshot, error) {
	found := &snapshot{at: time.Now(), namespaces: map[string]bool{}}
	ours := metav1.ListOptions{LabelSelector: labels.Set{v1alpha1.LabelExternalDNS: p.Owner}.String()}
	p.kept = nil
	if p.Cluster == "" {
		all, err := p.records.Records(metav1.NamespaceAll).List(ctx, ours)
		if err == nil {
			found.standing, p.kept = p.ReadStanding(all.Items), found
			return found, nil
		}
		if !apierrors.IsForbidden(err) {
			return nil, fmt.Errorf("records: %w", err)
		}
	}
	var ofCluster metav1.ListOptions
	if p.Cluster != "" {
		ofCluster.LabelSelector = labels.Set{v1alpha1.LabelCluster: p.Cluster}.String()
	}
	namespaces, err := p.central.CoreV1().Namespaces().List(ctx, ofCluster)
	if err != nil {
		return nil, fmt.Errorf("namespaces: %w", err)
	}
	lists := make([]*v1alpha1.RecordList, len(namespaces.Items))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i, namespace := range namespaces.Items {
		found.namespaces[namespace.Name] = true
		group.Go(func() (err error) {
			lists[i], err = p.records.Records(namespace.Name).List(groupCtx, ours)
			if apierrors.IsForbidden(err) {
				lists[i], err = &v1alpha1.RecordList{}, nil // no RoleBinding: nothing there is ours to change
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	var items []v1alpha1.Record
	for _, list := range lists {
		items = append(items, list.Items...)
	}
	found.standing, p.kept = p.ReadStanding(items), found
	return found, nil
}

// adjustment is one request to adjust.
type adjustment struct {
	*snapshot
	wanted map[externaldns.Key][]*externaldns.Candidate
}

func (p *provider) newAdjustment(ctx context.Context, endpoints []*externaldns.Endpoint) (*adjustment, error) {
	stands, err := p.readStanding(ctx)
	if err != nil {
		return nil, err
	}
	return &adjustment{stands, externaldns.Group(p.MakeCandidates(endpoints))}, nil
}

// decision is a verdict about what is left of a candidate when targets of other objects are taken away.
type decision struct {
	externaldns.Verdict
	candidate externaldns.Candidate
}

// decideAll asks about all candidates that would change something, of each namespace one after the other. It closes
// shared when each namespace has had its share: the answer does not wait for what one has more than others.
func (p *provider) decideAll(ctx context.Context, a *adjustment, shared chan<- struct{}) {
	var open []*externaldns.Candidate
	for _, same := range a.wanted {
		for _, c := range same {
			if !a.standing.NeedsVerdict(c) {
				continue
			}
			if _, known := p.verdicts.Get(p.keyOf(a, c)); !known {
				open = append(open, c)
			}
		}
	}
	decide := func(c *externaldns.Candidate) {
		d := decision{candidate: *c}
		if len(c.Endpoint.Targets) > 1 { // external-dns joins endpoints
			p.KeepTargets(&d.candidate, p.readSource(ctx, c.Resource).texts)
		}
		refusal, err := p.mayWrite(ctx, a.snapshot, c.Namespace)
		good := rightTime
		switch {
		case err != nil:
			return
		case refusal != "":
			d.Verdict = externaldns.Verdict{Decided: true, Refusal: refusal}
		case !a.standing.NeedsVerdict(&d.candidate):
			d.Verdict, good = externaldns.Verdict{Decided: true}, admittedTime
		default:
			if d.Verdict = p.askServer(ctx, a, &d.candidate); !d.Decided {
				return
			}
			if good = admittedTime; d.Refusal != "" {
				good = refusedTime
			}
		}
		p.verdicts.Add(p.keyOf(a, c), d, good)
	}
	share := orderFairly(open, func(c *externaldns.Candidate) string { return c.Namespace })
	forEach(ctx, open[:share], workers, decide)
	close(shared)
	forEach(ctx, open[share:], restWorkers, decide)
}

// orderFairly orders all, one of each namespace after the other, and returns how many are no more of a namespace than
// half of the namespaces have, or than minShare.
func orderFairly[T any](all []T, namespaceOf func(T) string) (share int) {
	counts := map[string]int{}
	type place struct {
		at   int
		what T
	}
	ordered := make([]place, 0, len(all))
	for _, one := range all {
		namespace := namespaceOf(one)
		ordered = append(ordered, place{counts[namespace], one})
		counts[namespace]++
	}
	slices.SortStableFunc(ordered, func(a, b place) int { return a.at - b.at })
	sizes := slices.Sorted(maps.Values(counts))
	for i, one := range ordered {
		all[i] = one.what
		if one.at < max(minShare, sizes[(len(sizes)-1)/2]) {
			share++
		}
	}
	return share
}

// forEach does all of them, some at once, in their order.
func forEach[T any](ctx context.Context, all []T, limit int, do func(T)) {
	var group errgroup.Group
	group.SetLimit(limit)
	for _, one := range all {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			do(one)
			return nil
		})
	}
	_ = group.Wait() // none returns an error
}

// keyOf is what a verdict rests on, apart from the rules of the zone.
func (p *provider) keyOf(a *adjustment, c *externaldns.Candidate) string {
	text := fmt.Sprintf("%s%s|%v", prefixOf(c), c.Resource, c.Record.Spec.Values)
	if c.Record.Spec.TTL != nil {
		text += fmt.Sprint("|", *c.Record.Spec.TTL)
	}
	for _, r := range append(a.standing.Replaced(c, a.wanted), a.standing[c.Key]...) {
		text += "|" + string(r.UID) + r.ResourceVersion
	}
	return text
}

func prefixOf(c *externaldns.Candidate) string { return c.Namespace + "|" + c.Key.String() + "|" }

// askServer asks about a candidate, by a dry run.
func (p *provider) askServer(ctx context.Context, a *adjustment, c *externaldns.Candidate) externaldns.Verdict {
	dry := []string{metav1.DryRunAll}
	var err error
	var made *v1alpha1.Record
	if same := a.standing[c.Key]; len(same) > 0 {
		_, err = p.patchRecord(ctx, same[0], c.Record, nil, dry)
	} else if replaced := a.standing.Replaced(c, a.wanted); len(replaced) > 0 {
		err = p.replaceRecords(ctx, c.Namespace, replaced, []*v1alpha1.Record{c.Record}, dry)
	} else {
		made, err = p.records.Records(c.Namespace).Create(ctx, c.Record,
			metav1.CreateOptions{FieldManager: externaldns.FieldManager, DryRun: dry})
	}
	refusal := readRefusal(err)
	if made != nil && made.Status.ZoneRef == nil && err == nil {
		refusal = "no zone takes the name"
		if adopted := meta.FindStatusCondition(made.Status.Conditions, v1alpha1.ConditionAdopted); adopted != nil {
			refusal = adopted.Message
		}
	}
	return externaldns.Verdict{Decided: err == nil || refusal != "", Refusal: refusal}
}

// readRefusal is the server's sentence where the same request would be refused again, else "". A Record of that name
// that is not ours is such a refusal, a Record that has changed is none.
func readRefusal(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || apierrors.IsConflict(err) {
		return ""
	}
	said := status.Status()
	switch said.Code {
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusUnauthorized:
		return ""
	}
	if said.Code < http.StatusBadRequest || said.Code >= http.StatusInternalServerError {
		return ""
	}
	if said.Details == nil || len(said.Details.Causes) == 0 {
		return cmp.Or(said.Message, http.StatusText(int(said.Code)))
	}
	var causes []string
	for _, cause := range said.Details.Causes {
		causes = append(causes, cause.Message)
	}
	return strings.Join(causes, "; ")
}

// mayWrite says why Records may not be written in a namespace; "" where they may.
func (p *provider) mayWrite(ctx context.Context, s *snapshot, namespace string) (refusal string, err error) {
	if p.Cluster != "" && !s.namespaces[namespace] {
		return fmt.Sprintf("namespace %[1]q of the central Kubizone is not there for cluster %[2]q; its administrator makes it by: "+
			"kubectl create namespace %[1]s && kubectl label namespace %[1]s %[3]s=%[2]s", namespace, p.Cluster, v1alpha1.LabelCluster), nil
	}
	if known, ok := p.rights.Get(namespace); ok {
		return known.(string), nil
	}
	review, err := p.central.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: "create", Group: v1alpha1.GroupName, Resource: "records"}}}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	if !review.Status.Allowed {
		refusal = fmt.Sprintf("external-dns may not write Records in namespace %[1]s; its administrator allows it by: "+
			"kubectl create rolebinding -n %[1]s kubizone-external-dns --clusterrole=kubizone-external-dns-writer --user=%[2]s",
			namespace, p.findUser(ctx))
	}
	p.rights.Add(namespace, refusal, rightTime)
	return refusal, nil
}

// findUser is the user that the server of the Records knows.
func (p *provider) findUser(ctx context.Context) string {
	review, err := p.central.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	if err != nil {
		return "USER"
	}
	return review.Status.UserInfo.Username
}

// chooseAnswer makes the answer, and tells objects what they do not get. Work on the adjustment may go on meanwhile.
func (p *provider) chooseAnswer(a *adjustment) []*externaldns.Endpoint {
	wanted, verdicts := map[externaldns.Key][]*externaldns.Candidate{}, map[*externaldns.Candidate]externaldns.Verdict{}
	for key, same := range a.wanted {
		for _, c := range same {
			one := c
			if a.standing.NeedsVerdict(c) {
				if known, ok := p.verdicts.Get(p.keyOf(a, c)); ok {
					d := known.(decision)
					one, verdicts[&d.candidate] = &d.candidate, d.Verdict
				}
			}
			wanted[key] = append(wanted[key], one)
		}
	}
	answer, refused := a.standing.Choose(wanted, func(c *externaldns.Candidate) externaldns.Verdict { return verdicts[c] })
	for _, r := range refused {
		p.tellObject(r.Resource, r.Endpoint, r.Message)
	}
	if answer == nil {
		answer = []*externaldns.Endpoint{}
	}
	return answer
}

// change is what happens at one name of a namespace. A name that loses one type and gets another changes in one step.
type change struct {
	namespace string
	create    []*externaldns.Candidate
	remove    []*v1alpha1.Record
	update    []update
	texts     map[string]string
}

type update struct {
	stands *v1alpha1.Record
	wanted *externaldns.Candidate
}

// applyChanges carries changes out: all of them, whatever becomes of the others. Its error says which were not.
func (p *provider) applyChanges(ctx context.Context, changes externaldns.Changes) error {
	stands, err := p.readStanding(ctx)
	if err != nil {
		return err
	}
	p.kept = nil
	byName, wrong := p.sortChanges(stands, changes)
	failed := make(chan error, len(byName))
	all := slices.Collect(maps.Values(byName))
	orderFairly(all, func(c *change) string { return c.namespace })
	forEach(ctx, all, workers, func(c *change) { failed <- p.carryOut(ctx, stands, c) })
	close(failed)
	if ctx.Err() != nil {
		wrong = append(wrong, ctx.Err())
	}
	for err := range failed {
		wrong = append(wrong, err)
	}
	if err := errors.Join(wrong...); err != nil {
		return fmt.Errorf("not all is done, the rest comes with the next cycle: %w", err)
	}
	return nil
}

// sortChanges sorts changes by namespace and name. That of what stands is where it stands; only a new Record goes where
// the object is.
func (p *provider) sortChanges(stands *snapshot, changes externaldns.Changes) (byName map[string]*change, wrong []error) {
	byName, texts := map[string]*change{}, map[string]map[string]string{}
	at := func(namespace, fqdn string) *change {
		key := namespace + "/" + fqdn
		if byName[key] == nil {
			byName[key] = &change{namespace: namespace, texts: stands.standing.ReadTextsAt(fqdn)}
			maps.Copy(byName[key].texts, texts[fqdn])
		}
		return byName[key]
	}
	for _, e := range slices.Concat(changes.Create, changes.UpdateNew) {
		if owned := e.OwnedName(); owned != "" {
			if texts[owned] == nil {
				texts[owned] = map[string]string{}
			}
			texts[owned][e.DNSName] = e.Targets[0]
		}
	}
	dropTexts := func(endpoints []*externaldns.Endpoint) []*externaldns.Endpoint {
		return slices.DeleteFunc(endpoints, func(e *externaldns.Endpoint) bool { return e.OwnedName() != "" })
	}
	for _, c := range p.MakeCandidates(dropTexts(slices.Concat(changes.UpdateNew, changes.Create))) {
		same := stands.standing[c.Key]
		switch {
		case c.Err != nil:
			wrong = append(wrong, fmt.Errorf("%s: %w", c.Key, c.Err))
			continue
		case len(same) == 0:
			x := at(c.Namespace, c.Name)
			x.create = append(x.create, c)
		case same[0].Namespace != c.Namespace:
			wrong = append(wrong, fmt.Errorf("%s: its Record stands in another namespace than %s, and goes first", c.Key, c.Namespace))
			continue
		default:
			x := at(c.Namespace, c.Name)
			x.update = append(x.update, update{same[0], c})
		}
	}
	for _, e := range dropTexts(changes.Delete) {
		key, err := e.Key()
		if err != nil {
			wrong = append(wrong, err)
		}
		for _, r := range stands.standing[key] {
			x := at(r.Namespace, key.Name)
			x.remove = append(x.remove, r)
		}
	}
	return byName, wrong
}

// carryOut writes what happens at one name, and tells the object what is refused.
func (p *provider) carryOut(ctx context.Context, stands *snapshot, x *change) error {
	var wrong []error
	say := func(c *externaldns.Candidate, err error) {
		if err == nil {
			return
		}
		if refusal := readRefusal(err); refusal != "" {
			p.tellObject(c.Resource, c.Endpoint, refusal)
			// What was let in is refused now, and is asked about anew.
			p.verdicts.RemoveAll(func(key any) bool { return strings.HasPrefix(key.(string), prefixOf(c)) })
		}
		wrong = append(wrong, fmt.Errorf("%s: %w", c.Key, err))
	}
	for _, c := range x.create {
		setTexts(c.Record, x.texts)
		if refusal, err := p.mayWrite(ctx, stands, x.namespace); err != nil || refusal != "" {
			return fmt.Errorf("%s: %w", c.Key, errors.Join(err, errors.New(refusal)))
		}
	}
	for _, u := range x.update {
		_, err := p.patchRecord(ctx, u.stands, u.wanted.Record, x.texts, nil)
		say(u.wanted, err)
	}
	if len(x.create) > 0 && len(x.remove) > 0 {
		made := make([]*v1alpha1.Record, len(x.create))
		for i, c := range x.create {
			made[i] = c.Record
		}
		say(x.create[0], p.replaceRecords(ctx, x.namespace, x.remove, made, nil))
		return errors.Join(wrong...)
	}
	for _, r := range x.remove {
		err := p.records.Records(r.Namespace).Delete(ctx, r.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &r.UID}})
		if err != nil && !apierrors.IsNotFound(err) {
			wrong = append(wrong, fmt.Errorf("%s %s: %w", r.Spec.DomainName, r.Spec.Type, err))
		}
	}
	for _, c := range x.create {
		_, err := p.records.Records(x.namespace).Create(ctx, c.Record, metav1.CreateOptions{FieldManager: externaldns.FieldManager})
		say(c, err)
	}
	return errors.Join(wrong...)
}

// setTexts writes what external-dns' registry says of a Record.
func setTexts(r *v1alpha1.Record, texts map[string]string) {
	if len(texts) == 0 {
		return
	}
	text, err := json.Marshal(texts)
	if err != nil {
		panic(err) // texts have a form in JSON
	}
	r.Annotations[v1alpha1.AnnotationExternalDNSTexts] = string(text)
}

// patchRecord gives a Record what is wanted, unless it has changed since it was read.
func (p *provider) patchRecord(ctx context.Context, stands, wanted *v1alpha1.Record, texts map[string]string, dry []string) (
	*v1alpha1.Record, error) {
	wanted = wanted.DeepCopy()
	setTexts(wanted, texts)
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": stands.UID, "resourceVersion": stands.ResourceVersion, "annotations": wanted.Annotations},
		"spec":     map[string]any{"values": wanted.Spec.Values, "rdata": nil, "ttl": wanted.Spec.TTL},
	})
	if err != nil {
		return nil, err
	}
	return p.records.Records(stands.Namespace).Patch(ctx, stands.Name, types.MergePatchType, body,
		metav1.PatchOptions{FieldManager: externaldns.FieldManager, DryRun: dry})
}

// replaceRecords removes and makes Records in one transaction, so that a name is never without any.
func (p *provider) replaceRecords(ctx context.Context, namespace string, remove, made []*v1alpha1.Record, dry []string) error {
	set := &v1alpha1.ChangeSet{Spec: v1alpha1.ChangeSetSpec{FieldManager: externaldns.FieldManager}}
	for _, r := range remove {
		set.Spec.Items = append(set.Spec.Items, v1alpha1.ChangeSetItem{Delete: &v1alpha1.ChangeSetDelete{Name: r.Name, UID: r.UID}})
	}
	for _, r := range made {
		r = r.DeepCopy()
		r.APIVersion, r.Kind = v1alpha1.SchemeGroupVersion.String(), "Record"
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		set.Spec.Items = append(set.Spec.Items, v1alpha1.ChangeSetItem{Create: &runtime.RawExtension{Raw: text}})
	}
	_, err := p.records.ChangeSets(namespace).Create(ctx, set, metav1.CreateOptions{FieldManager: externaldns.FieldManager, DryRun: dry})
	return err
}
