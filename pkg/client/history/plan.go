// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apis/rrsets"
	"kubi.zone/kubizone/pkg/client/load"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

const FieldManager = "kubizone-revert"

const serverLabel = v1alpha1.GroupName + "/parent-zone"

// Plan is the output of kubectl kubizone revert: the writes, the changes left, and the refusals of the server.
type Plan struct {
	FQDN   string `json:"fqdn"`
	View   string `json:"view,omitempty"`
	Serial int64  `json:"serial,omitempty"` // to return to
	// Time is used in place of Serial, in RFC 3339.
	Time string `json:"time,omitempty"`
	// Deleted is the user behind the deletion of the Zone, if the plan restores the Zone.
	Deleted *Author `json:"deleted,omitempty"`
	// Objects are the deleted Zone and its Delegations, to create again.
	Objects []Restoral `json:"objects,omitempty"`
	Changes []Reversal `json:"changes"`
	Left    []Left     `json:"left"`
	// Gaps describes names that have no values for a moment, between two change sets.
	Gaps []string `json:"gaps,omitempty"`
	// Held is the reason why the zone is not or would not be delivered after a mass deletion, or "".
	Held    string `json:"held,omitempty"`
	Refused int    `json:"refused"`
	Written int    `json:"written"`

	awaits bool // the Zone is not created yet
	// Refusals in these namespaces stop the revert: the Zone's, and the namespace named by the user. If zoneNamespace
	// is "", since the user may not read the Zone, all Records are of the user's namespace.
	zoneNamespace, namespace string
}

// Reversal restores the former state of a Record.
type Reversal struct {
	// Op is "+" to create the Record again, "~" to change it, "-" to delete it.
	Op        string `json:"op"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	FQDN      string `json:"fqdn"`
	Text      string `json:"text"`   // the change, for the user
	Undoes    Author `json:"undoes"` // of the newest change undone
	// Again names a controller, such as external-dns, likely to write the Record again; "" for none.
	Again string `json:"again,omitempty"`
	// After is another namespace whose Record must give up the name first; "" for none.
	After   string   `json:"after,omitempty"`
	Refused []string `json:"refused,omitempty"` // the server's reasons

	change    rrsets.Change
	conflicts bool              // all refusals are by other data at or above the name
	liftable  []refusal.Refusal // ends with the write of namespace After
}

type Restoral struct {
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Refused   []string `json:"refused,omitempty"`

	create func(ctx context.Context, dryRun []string) error
}

// Left is a difference that the revert does not undo.
type Left struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Text      string `json:"text"`
	Writer    string `json:"writer"`
	Reason    string `json:"reason"`

	missing bool   // a Record of the user's that should be back
	renewed string // present DNS name of a Record that IncludeManaged takes back
}

// CountMissing returns the number of Records of the zone's namespace, or that of Options.Namespace, that should be
// back and are left. Records that another writer renews, and challenges, do not count.
func (p *Plan) CountMissing() (n int) {
	for i := range p.Left {
		if p.Left[i].missing {
			n++
		}
	}
	return n
}

// isOwn reports whether a user who reverts the zone, or Options.Namespace of it, awaits the namespace's Records.
func (p *Plan) isOwn(namespace string) bool {
	if p.namespace != "" {
		return namespace == p.namespace
	}
	return p.zoneNamespace == "" || namespace == p.zoneNamespace
}

func (p *Plan) moment() string { return cmp.Or(p.Time, fmt.Sprint(p.Serial)) }

type Options struct {
	// Name selects Records by DNS name; zero selects all.
	Name name.Name
	// Namespace limits a revert to the namespace's Records; "" means all.
	Namespace string
	// IncludeManaged includes Records renewed by another client.
	IncludeManaged bool
}

// Present is what the server has of the Records and namespaces of a plan.
type Present struct {
	Records map[types.NamespacedName]*v1alpha1.Record
	// Unreadable has the server's refusal of each namespace whose Records the user may not read.
	Unreadable map[string]string
	// Began has the creation of each namespace but the zone's, as far as the user may read them.
	Began map[string]time.Time
}

// touch is a Record to revert, with the newest and the oldest undone step (change of the zone) that wrote the Record.
type touch struct {
	key            types.NamespacedName
	uid            types.UID
	newest, oldest *v1alpha1.HistoryStep
	// stateBefore is the state before oldest, to restore.
	stateBefore *v1alpha1.HistoryState
	existed     bool // false if oldest created the Record
	// renewer is the client that would write the Record again, for example "external-dns"; "" for none.
	renewer   string
	challenge bool // of ACME, and never reverted
}

func touchesOf(undone, older []v1alpha1.HistoryStep) []*touch {
	touches := map[types.NamespacedName]*touch{}
	var ordered []*touch
	for i := range undone {
		x := &undone[i]
		for j := range x.Records {
			r := &x.Records[j]
			key := types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
			t := touches[key]
			if x.Way == v1alpha1.WayCascade {
				// A cascade released the Record before the newer step added it again.
				if t != nil && !t.existed && r.Effect != v1alpha1.EffectAdded {
					t.oldest, t.stateBefore, t.existed = x, r.Before, true
				}
				continue
			}
			if t == nil {
				t = &touch{key: key, uid: types.UID(r.UID), newest: x}
				touches[key], ordered = t, append(ordered, t)
			}
			t.oldest, t.stateBefore, t.existed = x, r.Before, r.Effect != v1alpha1.EffectAdded
			t.addWriter(x, r)
		}
	}
	for i := range older {
		for j := range older[i].Records {
			r := &older[i].Records[j]
			if t := touches[types.NamespacedName{Namespace: r.Namespace, Name: r.Name}]; t != nil {
				t.addWriter(&older[i], r)
			}
		}
	}
	return ordered
}

const updateKeyUser = "kubi.zone:updatekey:"

// addWriter notes the client of a step if it would write the Record again.
func (t *touch) addWriter(x *v1alpha1.HistoryStep, r *v1alpha1.HistoryRecord) {
	t.challenge = t.challenge || x.Way == v1alpha1.WayChallenge
	t.renewer = cmp.Or(t.renewer, clientOf(x, r))
}

// clientOf returns the client of a step that writes a Record again, "" for none. The items of a change set may have
// other field managers than the step, such as Records of external-dns that a person brings back with others: then the
// Record's managers alone tell.
func clientOf(x *v1alpha1.HistoryStep, r *v1alpha1.HistoryRecord) string {
	if x.Way == v1alpha1.WayUpdateKey {
		return "UpdateKey " + strings.Replace(strings.TrimPrefix(x.By, updateKeyUser), ":", "/", 1)
	}
	isAlone := len(x.Records)+int(x.OtherRecords) == 1
	switch {
	case !isAlone:
		return ""
	case x.Way == v1alpha1.WayExternalDNS:
		return "external-dns"
	case x.Way == v1alpha1.WayRequest && r.Effect != v1alpha1.EffectRemoved:
		return describeRenewer(x.FieldManager)
	}
	return ""
}

func renews(manager string) bool {
	for _, tool := range []string{"kubectl", "kubizone-load", "kubizone-import", "kubizone-apply", "kubizone-verify", FieldManager} {
		if manager == tool || strings.HasPrefix(manager, tool+"-") {
			return false
		}
	}
	return manager != ""
}

// writerOf returns the former manager of a Record's spec that writes it again: a controller, or else an applier. Its
// name is "" if there is none, and the revert has the fields.
func writerOf(s *v1alpha1.HistoryState) (writer v1alpha1.HistoryManager) {
	if s == nil {
		return writer
	}
	isController := func(m v1alpha1.HistoryManager) bool { return renews(m.Name) }
	isApplier := func(m v1alpha1.HistoryManager) bool { return applies(m) && m.Name != FieldManager }
	for _, is := range []func(v1alpha1.HistoryManager) bool{isController, isApplier} {
		if n := slices.IndexFunc(s.Managers, is); n >= 0 {
			return s.Managers[n]
		}
	}
	return writer
}

func applies(m v1alpha1.HistoryManager) bool {
	return m.Operation == string(metav1.ManagedFieldsOperationApply)
}

// IsRenewed reports whether a revert of a step leaves a Record without Options.IncludeManaged, as far as the step
// tells.
func IsRenewed(step *v1alpha1.HistoryStep) bool {
	return slices.ContainsFunc(touchesOf([]v1alpha1.HistoryStep{*step}, nil), func(t *touch) bool {
		return t.renewer != "" || renews(writerOf(t.stateBefore).Name)
	})
}

// describeRenewer returns a field manager for users, or "" if it writes for a person.
func describeRenewer(manager string) string {
	switch {
	case manager == v1alpha1.ExternalDNSFieldManager:
		return "external-dns"
	case renews(manager):
		return "field manager " + manager
	}
	return ""
}

func renewerOf(r *v1alpha1.Record) string {
	if owner := metav1.GetControllerOf(r); owner != nil {
		return owner.Kind + " " + owner.Name
	}
	for _, entry := range r.ManagedFields {
		if text := describeRenewer(entry.Manager); text != "" && entry.Subresource == "" && rrsets.TouchesSpec(entry.FieldsV1) {
			return text
		}
	}
	return ""
}

type planner struct {
	*Plan
	past    *Past
	options Options
	present Present
	apex    name.Name
	zone    types.NamespacedName
	undone  int // steps of past
}

func Namespaces(undone []v1alpha1.HistoryStep) map[string][]string {
	out := map[string][]string{}
	for _, t := range touchesOf(undone, nil) {
		out[t.key.Namespace] = append(out[t.key.Namespace], t.key.Name)
	}
	return out
}

// selectSteps returns the steps by Records of o.Namespace.
func (o *Options) selectSteps(steps []v1alpha1.HistoryStep) []v1alpha1.HistoryStep {
	if o.Namespace == "" {
		return steps
	}
	return slices.DeleteFunc(slices.Clone(steps), func(x v1alpha1.HistoryStep) bool {
		return !slices.ContainsFunc(x.Records, func(r v1alpha1.HistoryRecord) bool { return r.Namespace == o.Namespace })
	})
}

// PlanRevert returns a plan that undoes the steps (changes of a zone) after a moment, without any request.
func PlanRevert(past *Past, s Subject, m Moment, present Present, options Options) (*Plan, error) {
	undone, err := past.Since(m)
	if err != nil {
		return nil, err
	}
	n := len(undone)
	older := past.Steps[n:]
	undone = options.selectSteps(undone)
	p := planner{Plan: &Plan{FQDN: past.FQDN, View: past.View, Serial: int64(m.Serial), Changes: []Reversal{}, Left: []Left{},
		namespace: options.Namespace}, past: past, options: options, present: present, undone: n}
	if s.Zone != nil {
		p.zone = types.NamespacedName{Namespace: s.Zone.Namespace, Name: s.Zone.Name}
		p.zoneNamespace = s.Zone.Namespace
	}
	// Show the serial, or the time without the right to read the Zone.
	switch {
	case m.Serial != 0:
	case s.Zone != nil && len(undone) > 0:
		p.Serial = undone[len(undone)-1].From
	case s.Zone != nil:
		p.Serial = int64(past.Newest)
	default:
		p.Time = m.Time.UTC().Format(time.RFC3339)
	}
	if p.apex, err = name.Parse(past.FQDN); err != nil && len(undone) > 0 {
		return nil, fmt.Errorf("the history has no valid zone: %w", err)
	}
	for _, t := range touchesOf(undone, older) {
		if options.Namespace == "" || options.Namespace == t.key.Namespace {
			p.addTouch(t)
		}
	}
	for _, loss := range past.Losses(n, options.Name) {
		p.Left = append(p.Left, Left{Text: loss.hidden("", "unknown names"), Writer: loss.By, Reason: loss.reason("its changes")})
	}
	p.addOthers(undone)
	p.addHeader(undone)
	p.findGaps()
	p.sortChanges()
	return p.Plan, nil
}

func (p *planner) sortChanges() {
	slices.SortStableFunc(p.Changes, func(x, y Reversal) int {
		return cmp.Or(strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.FQDN, y.FQDN), strings.Compare(x.Name, y.Name))
	})
}

// addTouch plans the return of a Record, if the user may read the Record and its namespace still exists.
func (p *planner) addTouch(t *touch) {
	reason, began := p.present.Unreadable[t.key.Namespace], p.present.Began[t.key.Namespace]
	switch {
	case reason != "":
		p.refuse(t, reason)
	case t.oldest.Time != nil && t.oldest.Time.Time.Before(began):
		// The namespace of a former team was made again for another team, which never had the Record.
		by := AuthorOf(t.newest)
		p.addLeft(t, p.present.Records[t.key], by.User(), "its namespace was deleted and made again since; write it by hand")
	case p.past.mayLack(t.key.Namespace, t.oldest, p.undone):
		by := AuthorOf(t.newest)
		p.addLeft(t, p.present.Records[t.key], by.User(), "older changes by its namespace may be missing; write it by hand")
	default:
		p.addRecord(t)
	}
}

// refuse adds a Record of an unreadable namespace.
func (p *planner) refuse(t *touch, reason string) {
	if !p.decides(t.key.Namespace) {
		by := AuthorOf(t.newest)
		p.addLeft(t, nil, by.User(), "you may not read it: "+reason)
		return
	}
	p.Changes = append(p.Changes, Reversal{Op: "~", Namespace: t.key.Namespace, Name: t.key.Name, FQDN: t.owner(p.apex),
		Text: "the Record cannot be read", Undoes: AuthorOf(t.newest), Refused: []string{reason}})
	p.Refused++
}

func (t *touch) owner(apex name.Name) string {
	for i := range t.oldest.Records {
		if r := &t.oldest.Records[i]; r.Namespace == t.key.Namespace && r.Name == t.key.Name && r.Owner != "" {
			return ownerOf(r.Owner, apex.String())
		}
	}
	return ""
}

// addLeft adds a Record to Left, as missing if it is one of the user's that existed, and no ACME challenge.
func (p *planner) addLeft(t *touch, r *v1alpha1.Record, writer, reason string) *Left {
	text := "a Record that was there"
	if r != nil {
		text = r.Status.FQDN + " " + r.Spec.Type
	} else if owner := t.owner(p.apex); owner != "" {
		text = owner
	}
	p.Left = append(p.Left, Left{Namespace: t.key.Namespace, Name: t.key.Name, Text: text, Writer: writer, Reason: reason,
		missing: t.existed && !t.challenge && p.isOwn(t.key.Namespace)})
	return &p.Left[len(p.Left)-1]
}

// isExpired reports whether a Record of the past would be expired now. r may be nil.
func isExpired(r *v1alpha1.Record) bool {
	return r != nil && r.Spec.ExpiresAt != nil && !r.Spec.ExpiresAt.After(time.Now())
}

// addRecord plans the return of a Record to its former state, or adds it to Left with the reason.
func (p *planner) addRecord(t *touch) {
	now, by := p.present.Records[t.key], AuthorOf(t.newest)
	want := p.formerRecord(t, now)
	if !p.selects(t, want, now) {
		return
	}
	// 1. The state is unknown, or back already.
	if t.existed && want == nil {
		p.addLeft(t, now, by.User(), "the history has no former spec of it; write it by hand, with the values that "+
			p.showCommand()+" prints")
		return
	}
	if sameState(want, now) {
		return
	}
	// 2. The Record is not to be written.
	if reason := p.reasonToLeave(t, want, now); reason != "" {
		left := p.addLeft(t, cmp.Or(now, want), by.User(), reason)
		left.missing = left.missing && !isExpired(want)
		return
	}
	// 3. Another client would write the Record again.
	present := cmp.Or(now, &v1alpha1.Record{})
	renewer := cmp.Or(t.renewer, describeRenewer(writerOf(t.stateBefore).Name), renewerOf(present))
	if renewer != "" && !p.options.IncludeManaged {
		left := p.addLeft(t, cmp.Or(want, now), renewer, "its writer renews it; --include-managed takes it back, and the writer may "+
			"write it again")
		left.missing, left.renewed = false, present.Status.FQDN
		return
	}
	p.addChange(t, want, now, by, renewer)
}

// formerRecord returns a Record before the steps, nil if there was none or its spec is unknown. Labels and annotations
// for which the history had no room are the present ones.
func (p *planner) formerRecord(t *touch, now *v1alpha1.Record) *v1alpha1.Record {
	spec := t.specBefore(p.apex)
	if spec == nil {
		return nil
	}
	before, present := t.stateBefore, cmp.Or(now, &v1alpha1.Record{})
	want := &v1alpha1.Record{Spec: *spec}
	want.Namespace, want.Name = t.key.Namespace, t.key.Name
	want.Labels, want.Annotations = maps.Clone(before.Labels), before.Annotations
	if slices.Contains(before.LeftOut, "labels") {
		want.Labels = maps.Clone(present.Labels)
	}
	if slices.Contains(before.LeftOut, "annotations") {
		want.Annotations = present.Annotations
	}
	delete(want.Labels, serverLabel)
	want.Status.FQDN = p.fqdnOf(&want.Spec, now)
	return want
}

// reasonToLeave returns why a Record is not to be changed, deleted (want is nil) or created again (now is nil). "" if
// it is.
func (p *planner) reasonToLeave(t *touch, want, now *v1alpha1.Record) string {
	switch {
	case t.challenge:
		return "it is an ACME challenge, which its client sets and removes"
	case isExpired(want):
		return "it has expired at " + want.Spec.ExpiresAt.UTC().Format(time.RFC3339) + "; write it with a later spec.expiresAt"
	case now == nil:
		return ""
	case now.DeletionTimestamp != nil:
		return "it is being deleted, and waits for its finalizers"
	case want == nil:
		return cmp.Or(p.reasonToKeep(t, now), p.reasonNotToDelete(t, now))
	}
	return p.reasonToKeep(t, now)
}

func (p *planner) reasonToKeep(t *touch, now *v1alpha1.Record) string {
	isInZone, ref := p.isInZone(now), now.Status.ZoneRef
	isKnownZone := p.zone.Name != "" // otherwise a child zone may have taken the name
	switch {
	case now.UID != t.uid && !(isKnownZone && isInZone):
		return "it is another Record of this name, outside the zone; change it by hand"
	case ref != nil && !isInZone:
		return "it is in zone " + ref.Namespace + "/" + ref.Name + " now; change it there"
	}
	return ""
}

func (p *planner) reasonNotToDelete(t *touch, now *v1alpha1.Record) string {
	if !p.isInZone(now) {
		return "it is in no zone now; delete it by hand"
	}
	// A Record of last year joins the zone when its rule is written. Clocks of two servers may differ by a little.
	if t.oldest.Time != nil && now.CreationTimestamp.Time.Before(t.oldest.Time.Add(-2*time.Second)) {
		return "it existed already, and was in no zone"
	}
	return ""
}

// specBefore returns the former spec of a Record, or nil. Values for which the history had no room are the removed rows
// of the step, for example of a change set with 100 keys.
func (t *touch) specBefore(apex name.Name) *v1alpha1.RecordSpec {
	spec := &v1alpha1.RecordSpec{}
	if !t.existed || t.stateBefore == nil || t.stateBefore.Spec == nil || json.Unmarshal(t.stateBefore.Spec.Raw, spec) != nil {
		return nil
	}
	hasOne := slices.Contains(t.stateBefore.LeftOut, "rdata")
	if !hasOne && !slices.Contains(t.stateBefore.LeftOut, "values") {
		return spec
	}
	data := t.removedData(spec, apex)
	switch {
	case len(data) == 0:
		return nil
	case hasOne:
		spec.RData = data[0]
	default:
		spec.Values = data
	}
	return spec
}

// removedData returns the values that the oldest step removed of the RRset of a spec.
func (t *touch) removedData(spec *v1alpha1.RecordSpec, apex name.Name) (data []string) {
	owner, err := name.ParseIn(spec.DomainName, apex)
	rrtype, typeErr := rdata.ParseType(spec.Type)
	if errors.Join(err, typeErr) != nil {
		return nil
	}
	for _, row := range t.oldest.Removed {
		if k, ok := keyOf(row, apex); ok && k.owner == owner && k.t == rrtype {
			data = append(data, k.data)
		}
	}
	return data
}

// lostMetadata returns the lost parts of a former Record that the rows of the step do not have.
func lostMetadata(s *v1alpha1.HistoryState) (lost []string) {
	for _, part := range s.LeftOut {
		if part == "annotations" || part == "labels" {
			lost = append(lost, part)
		}
	}
	return lost
}

// showCommand returns the command that prints the former values.
func (p *planner) showCommand() string {
	zone := strings.TrimSuffix(p.FQDN, ".")
	if p.Deleted != nil {
		return "kubectl kubizone log " + zone
	}
	return "kubectl kubizone show " + zone + "@" + p.moment()
}

func (p *planner) addChange(t *touch, want, now *v1alpha1.Record, by Author, renewer string) {
	r := Reversal{Namespace: t.key.Namespace, Name: t.key.Name, Undoes: by, Again: renewer, FQDN: cmp.Or(want, now).Status.FQDN}
	r.change = rrsets.Change{Before: now, After: want}
	switch {
	case now == nil:
		r.Op = "+"
		if lost := lostMetadata(t.stateBefore); len(lost) > 0 {
			left := p.addLeft(t, want, by.User(), "the history has no room for its former "+strings.Join(lost, " and ")+
				"; write them by hand")
			left.missing = false
		}
		// The former writer owns the Record again: external-dns writes no other Records, and a server-side apply by
		// Flux would conflict with another manager's fields.
		writer := writerOf(t.stateBefore)
		r.change.Manager = writer.Name
		if applies(writer) {
			r.change.AppliedJSON = applyOver(want, &v1alpha1.Record{})
		}
	case want == nil:
		r.Op = "-"
	default:
		r.Op = "~"
		if writer := writerOf(t.stateBefore); applies(writer) {
			r.change.Manager = writer.Name
		}
		r.change.AppliedJSON = applyOver(want, now)
	}
	var texts []string
	for _, c := range load.ChangesOfRecord(now, want, p.zone) {
		texts = append(texts, c.Text)
		if len(texts) > 1 {
			texts[0] = "- " + texts[0]
			texts[1] = "+ " + texts[1]
		}
	}
	r.Text = cmp.Or(strings.Join(texts, ", "), r.FQDN+" "+cmp.Or(want, now).Spec.Type+": another description, zoneRef or class")
	p.Changes = append(p.Changes, r)
}

// applyOver returns a manifest whose server-side apply turns now into want, except for labels and annotations added
// since: dropOver removes these, because apply would store a null in a map of strings as "".
func applyOver(want, now *v1alpha1.Record) []byte {
	spec := map[string]any{"ttl": nil, "rdata": nil, "values": nil, "zoneRef": nil, "description": nil}
	if text, err := json.Marshal(want.Spec); err == nil {
		_ = json.Unmarshal(text, &spec)
	}
	var had map[string]any
	if text, err := json.Marshal(now.Spec); err == nil {
		_ = json.Unmarshal(text, &had)
	}
	maps.DeleteFunc(spec, func(key string, value any) bool { return value == nil && had[key] == nil })
	metadata := map[string]any{"namespace": want.Namespace, "name": want.Name}
	if now.UID != "" {
		metadata["uid"], metadata["resourceVersion"] = now.UID, now.ResourceVersion
	}
	for field, values := range map[string]map[string]string{"labels": want.Labels, "annotations": want.Annotations} {
		if len(values) > 0 {
			metadata[field] = values
		}
	}
	text, _ := json.Marshal(map[string]any{"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": "Record", "metadata": metadata,
		"spec": spec})
	return text
}

// dropOver returns a merge patch to remove labels and annotations of now absent from want, or nil if there is none.
func dropOver(want, now *v1alpha1.Record) []byte {
	metadata := map[string]any{}
	drop := func(field string, want, now map[string]string) {
		gone := map[string]any{}
		for key := range now {
			if _, stays := want[key]; !stays && key != serverLabel {
				gone[key] = nil
			}
		}
		if len(gone) > 0 {
			metadata[field] = gone
		}
	}
	drop("labels", want.Labels, now.Labels)
	drop("annotations", want.Annotations, now.Annotations)
	if len(metadata) == 0 {
		return nil
	}
	metadata["uid"] = now.UID
	text, _ := json.Marshal(map[string]any{"metadata": metadata})
	return text
}

func (p *planner) isInZone(r *v1alpha1.Record) bool {
	ref := r.Status.ZoneRef
	if ref == nil || p.zone.Name != "" {
		return ref != nil && ref.Namespace == p.zone.Namespace && ref.Name == p.zone.Name
	}
	fqdn, err := name.Parse(r.Status.FQDN)
	return err == nil && p.apex.Encloses(fqdn) && r.Status.View == p.past.View
}

func (p *planner) fqdnOf(spec *v1alpha1.RecordSpec, now *v1alpha1.Record) string {
	if now != nil && now.Spec.DomainName == spec.DomainName && now.Status.FQDN != "" {
		return now.Status.FQDN
	}
	if fqdn, err := name.ParseIn(spec.DomainName, p.apex); err == nil {
		return fqdn.String()
	}
	return spec.DomainName
}

// selects reports whether a Record has the name to revert, before or now. If no state is known, the step has the name.
func (p *planner) selects(t *touch, want, now *v1alpha1.Record) bool {
	var names []string
	for _, r := range []*v1alpha1.Record{want, now} {
		if r != nil {
			names = append(names, r.Status.FQDN)
		}
	}
	if len(names) == 0 {
		names = append(names, t.owner(p.apex))
	}
	return p.options.Name.IsZero() || slices.Contains(names, p.options.Name.String())
}

// knownRecords has the Records of Changes and Left.
func (p *Plan) knownRecords() map[types.NamespacedName]bool {
	known := map[types.NamespacedName]bool{}
	for i := range p.Changes {
		known[types.NamespacedName{Namespace: p.Changes[i].Namespace, Name: p.Changes[i].Name}] = true
	}
	for i := range p.Left {
		known[types.NamespacedName{Namespace: p.Left[i].Namespace, Name: p.Left[i].Name}] = true
	}
	return known
}

// addOthers adds the changed values without a Record to revert to Left, with the sign of the change that would undo
// them: "+ a.example.org. A 192.0.2.1" if a rule removed it.
func (p *planner) addOthers(undone []v1alpha1.HistoryStep) {
	type rows struct {
		count map[string]int // additions less removals, by row
		of    *v1alpha1.HistoryStep
	}
	var order []string
	groups := map[string]*rows{}
	known := p.knownRecords()
	for i := range undone {
		x := &undone[i]
		if x.Way != v1alpha1.WayCascade && len(x.Records) > 0 {
			continue
		}
		planned := map[string]bool{} // names of Records with a line of their own
		for j := range x.Records {
			if r := &x.Records[j]; known[types.NamespacedName{Namespace: r.Namespace, Name: r.Name}] {
				planned[ownerOf(r.Owner, x.FQDN)] = true
			}
		}
		by := AuthorOf(x)
		who := by.User()
		g := groups[who]
		if g == nil {
			g = &rows{count: map[string]int{}, of: x}
			groups[who], order = g, append(order, who)
		}
		for n, row := range eachRow(x) {
			owner := ownerOf(row.Owner, x.FQDN)
			isAsked := p.options.Name.IsZero() || owner == p.options.Name.String()
			if isAsked && !planned[owner] { // else the Record's line has it
				g.count[RowLine(row, x.FQDN)] += n
			}
		}
	}
	for _, who := range order {
		g := groups[who]
		for _, text := range slices.Sorted(maps.Keys(g.count)) {
			if g.count[text] == 0 {
				continue
			}
			sign := "- "
			if g.count[text] < 0 {
				sign = "+ "
			}
			reason := "a child Zone, a rule or DNSSEC put it there; change that"
			if g.of.AnotherNamespace {
				reason = "Records of another namespace, which reverts its own"
			}
			p.Left = append(p.Left, Left{Text: sign + text, Writer: who, Reason: reason})
		}
	}
}

func (p *planner) addHeader(undone []v1alpha1.HistoryStep) {
	var newest, oldest *v1alpha1.HistoryStep
	for i := range undone {
		if undone[i].HeaderAfter != nil {
			newest, oldest = cmp.Or(newest, &undone[i]), &undone[i]
		}
	}
	if newest == nil || oldest.HeaderBefore == nil || equality.Semantic.DeepEqual(newest.HeaderAfter, oldest.HeaderBefore) ||
		!p.options.Name.IsZero() {
		return
	}
	by := AuthorOf(newest)
	p.Left = append(p.Left, Left{Namespace: p.zone.Namespace, Name: p.zone.Name, Text: "the spec of the Zone (SOA, ttl or name servers)",
		Writer: by.User(), Reason: "a revert writes Records alone; kubectl kubizone log shows the former values, for kubectl edit zone"})
}

// findGaps sets After of the changes whose name another namespace gives up, and Gaps.
func (p *Plan) findGaps() {
	from := map[string]string{}
	p.Gaps = nil
	for i := range p.Changes {
		c := &p.Changes[i]
		c.After = ""
		if before := c.change.Before; before != nil && (c.Op == "-" || c.FQDN != before.Status.FQDN) {
			from[before.Status.FQDN] = c.Namespace
		}
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		if ns := from[c.FQDN]; c.Op != "-" && ns != "" && ns != c.Namespace {
			c.After = ns
			p.Gaps = append(p.Gaps, fmt.Sprintf("%s passes from namespace %s to %s: it has no values between their change sets", c.FQDN,
				ns, c.Namespace))
		}
	}
	slices.Sort(p.Gaps)
	p.Gaps = slices.Compact(p.Gaps)
}

// sameState reports whether two Records are both absent, or have the same spec.
func sameState(x, y *v1alpha1.Record) bool {
	if x == nil || y == nil {
		return x == y
	}
	return sameSpec(&x.Spec, &y.Spec)
}

func sameSpec(x, y *v1alpha1.RecordSpec) bool { return equality.Semantic.DeepEqual(x, y) }
