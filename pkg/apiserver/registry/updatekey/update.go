// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updatekey

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apis/rrsets"
	"kubi.zone/kubizone/pkg/apiserver/registry/changeset"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/update"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

const Group = "kubi.zone:updatekeys"

// User returns the user of an UpdateKey. The user has rights only within the server, by changeset.ActFor.
func User(key *v1alpha1.UpdateKey, from string) user.Info {
	return &user.DefaultInfo{Name: v1alpha1.UpdateKeyUserPrefix + key.Namespace + ":" + key.Name, Groups: []string{Group},
		Extra: map[string][]string{"kubi.zone/update-from": {from}}}
}

// Zones finds the zone of a DNS UPDATE message, and reads the Records there. Reads of etcd are charged to the namespace
// of the UpdateKey.
type Zones interface {
	// FindZone returns the Zone with the name apex in a view, or false.
	FindZone(ctx context.Context, namespace, view string, apex name.Name) (at v1alpha1.AdoptingZone, ok bool, err error)
	// FindEnclosing returns the closest zone at or above a name, such as example.org. for www.example.org., from
	// memory.
	FindEnclosing(view string, fqdn name.Name) (at v1alpha1.AdoptingZone, apex name.Name, ok bool)
	// RecordsOf returns the stored Records of a namespace at the names, by name. The zone is named apex. The error may
	// be ErrTooManyRecords.
	RecordsOf(ctx context.Context, at v1alpha1.AdoptingZone, apex name.Name, namespace string, names []name.Name) (
		map[name.Name][]*v1alpha1.Record, error)
	// ApexOf returns the RRsets of the Zone's spec.nameServers (made), and the values of all namespaces' NS Records at
	// the apex, as written there (ns).
	ApexOf(ctx context.Context, at v1alpha1.AdoptingZone, namespace string) (made []content.RRset, ns []string, err error)
	// MayMake reports, from memory, whether spec.nameServers may make RRsets at the names. It saves most calls of
	// ApexOf.
	MayMake(at v1alpha1.AdoptingZone, view string, apex name.Name, names []name.Name) bool
	// Judge checks prerequisites as a ChangeSet does. The error has the cause ZoneNotFound for an absent zone, and for
	// a zone without a rule for the namespace.
	Judge(ctx context.Context, at v1alpha1.AdoptingZone, namespace string, prerequisites []v1alpha1.ChangeSetPrerequisite) error
}

var ErrTooManyRecords = errors.New("the namespace has more Records at the names of the message than one message may be about; send " +
	"several messages")

// UpdateREST is the subresource update. Primaries post DNS UPDATE messages there.
type UpdateREST struct {
	kind.Endpoint
	keys   rest.Getter
	writer *Writer
	report ReportRefused
}

type ReportRefused func(key *v1alpha1.UpdateKey, rcode, message string)

var _ rest.NamedCreater = (*UpdateREST)(nil)

func NewUpdateREST(keys rest.Getter, writer *Writer, report ReportRefused) *UpdateREST {
	return &UpdateREST{kind.Endpoint{Object: &v1alpha1.UpdateRequest{}}, keys, writer, report}
}

// Create carries out a DNS UPDATE message for the UpdateKey, and answers with its RCODE. An error leaves the outcome
// open, and the primary answers SERVFAIL.
func (r *UpdateREST) Create(ctx context.Context, object string, obj runtime.Object, validate rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (runtime.Object, error) {
	if len(options.DryRun) > 0 {
		return nil, apierrors.NewBadRequest("an update has no dry run; a dry run of a ChangeSet shows the changes")
	}
	request, key, err := readRequest(ctx, r.keys, object, obj, validate)
	if err != nil {
		return nil, err
	}
	m, errs := readMessage(&request.Spec)
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.Kind("UpdateRequest"), "", errs)
	}
	if request.Status, err = r.writer.Apply(ctx, key, User(key, request.Spec.From), m); err != nil {
		return nil, err
	}
	switch request.Status.RCode {
	// The client of an update sees only the RCODE. The owner of the key finds the sentence in status.lastRefusal
	// (S13.7).
	case update.Refused.String(), update.NotAuth.String(), update.NotZone.String(), update.FormErr.String():
		r.report(key, request.Status.RCode, request.Status.Message)
	}
	return request, nil
}

// readRequest returns the request with its UpdateKey, read from etcd: a key that was just deleted or suspended must not
// write.
func readRequest(ctx context.Context, keys rest.Getter, object string, obj runtime.Object, validate rest.ValidateObjectFunc) (
	*v1alpha1.UpdateRequest, *v1alpha1.UpdateKey, error) {
	request, ok := obj.(*v1alpha1.UpdateRequest)
	if !ok {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("not an UpdateRequest: %T", obj))
	}
	if err := kind.ValidateObject(ctx, request, validate); err != nil {
		return nil, nil, err
	}
	key, err := keys.Get(ctx, object, &metav1.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	return request, key.(*v1alpha1.UpdateKey), nil
}

// Writer writes the changes of DNS UPDATE messages as change sets of Records.
type Writer struct {
	sets  rest.Creater
	zones Zones
}

func NewWriter(sets rest.Creater, zones Zones) *Writer { return &Writer{sets, zones} }

func (w *Writer) FindZone(view string, fqdn name.Name) (name.Name, bool) {
	_, apex, ok := w.zones.FindEnclosing(view, fqdn)
	return apex, ok
}

const maxTries = 10

// Apply writes the changes of a message as the user author, for the key's namespace, and annotates the Records with the
// key. The status has the RCODE. After an error the outcome may be unknown, and the client should retry.
func (w *Writer) Apply(ctx context.Context, key *v1alpha1.UpdateKey, author user.Info, message *update.Message) (
	v1alpha1.UpdateRequestStatus, error) {
	p := &plan{w: w, key: key, message: message, requester: author}
	for range maxTries {
		if retry, err := p.attemptWrite(ctx); err != nil || !retry {
			return p.status, err
		}
	}
	if p.nameConflicts == maxTries { // a retry would not help
		p.answer(update.Refused, "a Record of namespace %s that no update made has the name of a Record that this update would create "+
			"(dyn--OWNER-TYPE); rename or delete it with kubectl", key.Namespace)
		return p.status, nil
	}
	return p.status, apierrors.NewTooManyRequests("other writes kept changing the Records of this update; nothing was written: try "+
		"again", 1)
}

// Changes reports whether a message would change the namespace's records. It returns false for a refused message.
func (w *Writer) Changes(ctx context.Context, key *v1alpha1.UpdateKey, m *update.Message) (bool, error) {
	p := &plan{w: w, key: key, message: m}
	if failure, err := p.checkMessage(ctx); failure != nil || err != nil {
		return false, err
	}
	changes, _, failure, err := p.foldUpdates(ctx)
	return failure == nil && len(changes) > 0, err
}

// plan is the state of a DNS UPDATE message in progress.
type plan struct {
	w         *Writer
	key       *v1alpha1.UpdateKey
	message   *update.Message
	requester user.Info
	scope     rules.Scope
	// zone is the zone of the message, and zoneObject refers to the Zone object.
	zone       zone
	zoneObject v1alpha1.AdoptingZone
	status     v1alpha1.UpdateRequestStatus
	// retriedUnmet is true after a second try because of an unmet prerequisite. An earlier copy of the message may have
	// been written meanwhile.
	retriedUnmet bool
	// nameConflicts counts the tries that failed because another Record had the object name of a new Record.
	nameConflicts int
}

func (p *plan) answer(rcode update.RCode, format string, args ...any) {
	p.status = v1alpha1.UpdateRequestStatus{RCode: rcode.String(), Message: fmt.Sprintf(format, args...)}
}

// attemptWrite reads the Records, folds the updates and writes the result. again is true if another write came between,
// so that the same message may succeed at the next attempt.
func (p *plan) attemptWrite(ctx context.Context) (again bool, err error) {
	// 1. Compute the changes.
	failure, err := p.checkMessage(ctx)
	if err != nil {
		return false, err
	}
	if failure != nil {
		p.answer(failure.RCode, "%s", failure.Reason)
		return false, nil
	}
	changes, made, failure, err := p.foldUpdates(ctx)
	if err != nil {
		return false, err
	}
	// A client that got no answer sends the same octets again: NOERROR, with the serial of the first time (S13.15).
	if written := p.findWritten(made); written != nil {
		p.answer(update.NoError, "")
		p.status.Serial = written.Status.Serial
		return false, nil
	}
	if failure == nil {
		renewals, err := listRenewals(p.key, p.zone, p.message, changes, made)
		if err != nil {
			return false, err
		}
		changes = append(changes, renewals...)
	}
	// 2. Without changes, only check prerequisites.
	prerequisites := makePrerequisites(p.message)
	if failure != nil || len(changes) == 0 { // prerequisites come first (RFC 2136 §3)
		err := p.w.zones.Judge(ctx, p.zoneObject, p.key.Namespace, prerequisites)
		if p.answer(update.NoError, ""); failure != nil {
			p.answer(failure.RCode, "%s", failure.Reason)
		}
		return false, p.answerError(ctx, err)
	}

	// 3. Write a change set.
	writes := make([]rrsets.Change, len(changes))
	for i, c := range changes {
		writes[i] = makeChange(p.key, p.zone, p.message.ID, c, made[c.Name][c.Type])
	}
	set := rrsets.NewLocalSet(writes)
	set.Spec.FieldManager, set.Spec.Force, set.Spec.Prerequisites = fieldManager, true, prerequisites
	acting := changeset.ActFor(genericapirequest.WithUser(ctx, p.requester), p.key.Namespace)
	answer, err := p.w.sets.Create(acting, set, nil, &metav1.CreateOptions{})
	switch {
	// A Record with the object name, such as dyn--www-a, exists without the label: a user has made it.
	case refusal.Has(err, metav1.StatusReasonAlreadyExists):
		p.nameConflicts++
		return true, nil
	// A Record was changed or deleted since foldUpdates read it.
	case refusal.Has(err, metav1.StatusReasonConflict), refusal.Has(err, metav1.StatusReasonNotFound):
		return true, nil
	}
	if isUnmet(err) && p.message.ID != "" && !p.retriedUnmet {
		// Perhaps an earlier copy has been written meanwhile. Then findWritten finds it.
		p.retriedUnmet = true
		return true, nil
	}
	if err != nil {
		return false, p.answerError(ctx, err)
	}
	p.answer(update.NoError, "")
	p.status.Serial = answer.(*v1alpha1.ChangeSet).Status.Serial
	return false, nil
}

// checkMessage finds the message's zone, and returns a Failure if the message is malformed or its key may not write
// some name. An error means that the zone was not read.
func (p *plan) checkMessage(ctx context.Context) (*update.Failure, error) {
	m := p.message
	if p.key.Spec.Suspended {
		return &update.Failure{RCode: update.Refused, Reason: fmt.Sprintf("UpdateKey %s/%s is suspended", p.key.Namespace, p.key.Name)}, nil
	}
	if failure := m.Check(); failure != nil {
		return failure, nil
	}
	var err error
	if p.scope, err = readScope(p.key); err != nil {
		return &update.Failure{RCode: update.Refused, Reason: err.Error()}, nil
	}
	at, ok, err := p.w.zones.FindZone(ctx, p.key.Namespace, p.key.Spec.View, m.Zone)
	if err != nil {
		return nil, err
	}
	if !ok {
		return &update.Failure{RCode: update.NotAuth, Reason: notAuth(m.Zone, p.key.Namespace)}, nil
	}
	p.zoneObject, p.zone = at, zone{p.key.Spec.View, m.Zone}
	return p.checkNames(), nil
}

// checkNames returns a Failure if a name is in a child zone, or if the key's spec.records does not cover the name and
// type.
func (p *plan) checkNames() *update.Failure {
	m := p.message
	// A child zone, such as dev.example.org., has a SOA and rules of its own.
	for _, rr := range slices.Concat(m.Prerequisites, m.Updates) {
		if _, apex, ok := p.w.zones.FindEnclosing(p.key.Spec.View, rr.Name); ok && apex != m.Zone && m.Zone.Encloses(apex) {
			return &update.Failure{RCode: update.Refused, Name: rr.Name, Type: rr.Type,
				Reason: fmt.Sprintf("%s is in another zone than %s; send it for that one", rr.Name, m.Zone)}
		}
	}
	// Prerequisites tell which names exist, so they too need a pattern of the key.
	for i := range m.Prerequisites {
		if rr := &m.Prerequisites[i]; !p.scope.CoversName(rr.Name) {
			return p.beyond(rr)
		}
	}
	for i := range m.Updates {
		rr := &m.Updates[i]
		// The deletion of a whole name covers the types of the key's share alone.
		if rr.Type == rdata.ANY && p.scope.CoversName(rr.Name) {
			continue
		}
		if !p.scope.Covers(rr.Name, rr.Type) {
			return p.beyond(rr)
		}
	}
	return nil
}

// notAuth must not reveal whether the zone is absent or has no rule for the namespace.
func notAuth(zone name.Name, namespace string) string {
	return fmt.Sprintf("there is no zone %s, or it has no rule for namespace %q", zone, namespace)
}

func (p *plan) beyond(rr *update.RR) *update.Failure {
	return &update.Failure{RCode: update.Refused, Name: rr.Name, Type: rr.Type, Reason: fmt.Sprintf("spec.records of UpdateKey %s/%s "+
		"has no pattern for %s %s (S13.1); add one, or use the key that has it", p.key.Namespace, p.key.Name, rr.Name, rr.Type)}
}

// findWritten returns a Record that an earlier copy of the message wrote, or nil. The Record proves that the whole
// message was written, because a single transaction writes a message.
func (p *plan) findWritten(shares map[name.Name]share) *v1alpha1.Record {
	if p.message.ID == "" {
		return nil
	}
	for _, share := range shares {
		for _, record := range share {
			if record.Annotations[v1alpha1.AnnotationUpdateID] == p.message.ID {
				return record
			}
		}
	}
	return nil
}

// foldUpdates returns the RRsets that the message changes, without writing. made has the namespace's dynamic share at
// the updated names. A failure means that the message is refused.
func (p *plan) foldUpdates(ctx context.Context) (changes []update.Change, made map[name.Name]share, failure *update.Failure, err error) {
	names := p.message.UpdatedNames()
	records, err := p.w.zones.RecordsOf(ctx, p.zoneObject, p.zone.fqdn, p.key.Namespace, names)
	if errors.Is(err, ErrTooManyRecords) {
		return nil, nil, &update.Failure{RCode: update.Refused, Reason: err.Error()}, nil
	} else if err != nil {
		return nil, nil, nil, err
	}
	present := map[name.Name]update.Present{}
	made = map[name.Name]share{}
	for _, fqdn := range names {
		if present[fqdn], made[fqdn], err = divideRecords(p.scope, p.zone, fqdn, records[fqdn]); err != nil {
			return nil, nil, nil, err
		}
	}
	if err := p.addApex(ctx, present); err != nil {
		return nil, nil, nil, err
	}
	changes, failure = p.message.Fold(present)
	return changes, made, failure, nil
}

// addApex adds to present the RRsets of the own Zone's spec.nameServers, which updates must not change. If the message
// updates NS at the apex, addApex sets ForeignNS if others have NS there.
func (p *plan) addApex(ctx context.Context, present map[name.Name]update.Present) error {
	ownsZone := p.zoneObject.Namespace == p.key.Namespace
	updatesNS := slices.ContainsFunc(p.message.Updates, func(rr update.RR) bool { return rr.Name == p.zone.fqdn && rr.Type == rdata.NS })
	mayDerive := func() bool {
		return ownsZone && p.w.zones.MayMake(p.zoneObject, p.key.Spec.View, p.zone.fqdn, slices.Collect(maps.Keys(present)))
	}
	// Most messages are about other names, and save a read of the Zone.
	if len(present) == 0 || !updatesNS && !mayDerive() {
		return nil
	}

	// Values of spec.nameServers belong to the Zone, so deleting them is REFUSED.
	derived, nsValues, err := p.w.zones.ApexOf(ctx, p.zoneObject, p.key.Namespace)
	if err != nil {
		return err
	}

	for _, set := range derived {
		fqdn, err := set.Owner.In(p.zone.fqdn)
		if err != nil {
			return err
		}
		atName, updated := present[fqdn]
		switch {
		case ownsZone && updated:
			resolved, err := resolveSet(p.zone.fqdn, set.Type, set.Data)
			if err != nil {
				return err
			}
			atName.Derived = append(atName.Derived, resolved)
			present[fqdn] = atName
		case !ownsZone && set.Type == rdata.NS:
			nsValues = append(nsValues, set.Data...)
		}
	}

	// The last apex NS must stay (RFC 2136 §3.4.2.4), but another namespace's NS there is enough.
	if atName, updated := present[p.zone.fqdn]; updated && updatesNS {
		all, err := resolveSet(p.zone.fqdn, rdata.NS, nsValues)
		if err != nil {
			return err
		}
		atName.ForeignNS = slices.ContainsFunc(all.Values, func(value string) bool { return !atName.HasValue(rdata.NS, value) })
		present[p.zone.fqdn] = atName
	}
	return nil
}

func isUnmet(err error) bool {
	return apierrors.ReasonForError(err) == v1alpha1.StatusReasonPrerequisiteFailed
}

// answerError sets the status for an error that a refusal explains, and returns nil. Other errors it returns: the
// primary answers SERVFAIL, and the client tries again.
func (p *plan) answerError(ctx context.Context, err error) error {
	var answered apierrors.APIStatus
	if err == nil {
		return nil
	}
	if !errors.As(err, &answered) {
		return err
	}
	status, refusals := answered.Status(), refusal.Of(err)
	switch {
	case isUnmet(err):
		i, all := refusals[0].Prerequisite, p.message.ListPrerequisites()
		if i < 0 || i >= len(all) {
			return err
		}
		p.answer(rcodeOfUnmet(all[i]), "a prerequisite is not met: %s", all[i].Name)
	// The zone or its rule went after FindZone.
	case status.Code == http.StatusForbidden && p.isZoneAbsent(ctx):
		p.answer(update.NotAuth, "%s", notAuth(p.zone.fqdn, p.key.Namespace))
	case status.Code == http.StatusForbidden, status.Code == http.StatusUnprocessableEntity,
		status.Code == http.StatusRequestEntityTooLarge:
		p.answer(update.Refused, "%s", kind.Shorten(explainRefusal(status, refusals), maxMessage))
	default:
		return err
	}
	return nil
}

func explainRefusal(status metav1.Status, refusals []refusal.Refusal) string {
	if status.Code != http.StatusForbidden {
		return strings.TrimSpace(status.Message)
	}
	return refusal.Messages(refusals)
}

const maxMessage = 1024

func (p *plan) isZoneAbsent(ctx context.Context) bool {
	err := p.w.zones.Judge(ctx, p.zoneObject, p.key.Namespace, nil)
	return apierrors.HasStatusCause(err, metav1.CauseType("ZoneNotFound"))
}
