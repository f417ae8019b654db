// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/load"
	"kubi.zone/kubizone/pkg/rrsets"
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

	change rrsets.Change
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
}

type Options struct {
	// Name selects Records by DNS name; zero selects all.
	Name name.Name
	// IncludeManaged includes Records renewed by another client.
	IncludeManaged bool
}

type Present map[types.NamespacedName]*v1alpha1.Record

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

func (t *touch) addWriter(x *v1alpha1.HistoryStep, r *v1alpha1.HistoryRecord) {
	switch x.Way {
	case v1alpha1.WayChallenge:
		t.challenge = true
	case v1alpha1.WayUpdateKey:
		t.renewer = cmp.Or(t.renewer, "UpdateKey "+strings.Replace(strings.TrimPrefix(x.By, updateKeyUser), ":", "/", 1))
	case v1alpha1.WayExternalDNS:
		t.renewer = cmp.Or(t.renewer, "external-dns")
	case v1alpha1.WayRequest:
		if r.Effect != v1alpha1.EffectRemoved && renews(x.FieldManager) {
			t.renewer = cmp.Or(t.renewer, "field manager "+x.FieldManager)
		}
	}
}

func renews(manager string) bool {
	for _, tool := range []string{"kubectl", "kubizone-load", "kubizone-import", "kubizone-apply", "kubizone-verify", FieldManager} {
		if manager == tool || strings.HasPrefix(manager, tool+"-") {
			return false
		}
	}
	return manager != ""
}

func renewerOf(r *v1alpha1.Record) string {
	if owner := metav1.GetControllerOf(r); owner != nil {
		return owner.Kind + " " + owner.Name
	}
	for _, entry := range r.ManagedFields {
		if entry.Subresource == "" && renews(entry.Manager) && rrsets.TouchesSpec(entry.FieldsV1) {
			return "field manager " + entry.Manager
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
}

func Namespaces(undone []v1alpha1.HistoryStep) map[string][]string {
	out := map[string][]string{}
	for _, t := range touchesOf(undone, nil) {
		out[t.key.Namespace] = append(out[t.key.Namespace], t.key.Name)
	}
	return out
}

// PlanRevert returns a plan that undoes the steps (changes of a zone) after a moment, without any request. If the user
// may not read a namespace, unreadable has the server's refusal.
func PlanRevert(past *Past, s Subject, m Moment, present Present, unreadable map[string]string, options Options) (*Plan, error) {
	undone, err := past.Since(m)
	if err != nil {
		return nil, err
	}
	p := planner{Plan: &Plan{FQDN: past.FQDN, View: past.View, Serial: int64(m.Serial), Changes: []Reversal{}, Left: []Left{}},
		past: past, options: options, present: present}
	if s.Zone != nil {
		p.zone = types.NamespacedName{Namespace: s.Zone.Namespace, Name: s.Zone.Name}
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
	for _, t := range touchesOf(undone, past.Steps[len(undone):]) {
		if reason := unreadable[t.key.Namespace]; reason != "" {
			p.refuse(t, reason)
		} else {
			p.addRecord(t)
		}
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

func (p *planner) refuse(t *touch, reason string) {
	p.Changes = append(p.Changes, Reversal{Op: "~", Namespace: t.key.Namespace, Name: t.key.Name, FQDN: t.owner(p.apex),
		Text: "the Record cannot be read", Undoes: AuthorOf(t.newest), Refused: []string{reason}})
	p.Refused++
}

func (t *touch) owner(apex name.Name) string {
	for _, rows := range [][]v1alpha1.Row{t.oldest.Removed, t.oldest.Added} {
		if len(rows) > 0 && len(t.oldest.Records) == 1 {
			return ownerOf(rows[0].Owner, apex.String())
		}
	}
	return ""
}

func (p *planner) addLeft(t *touch, r *v1alpha1.Record, writer, reason string) {
	text := "a Record that was there"
	if r != nil {
		text = r.Status.FQDN + " " + r.Spec.Type
	} else if owner := t.owner(p.apex); owner != "" {
		text = owner
	}
	p.Left = append(p.Left, Left{Namespace: t.key.Namespace, Name: t.key.Name, Text: text, Writer: writer, Reason: reason})
}

func (p *planner) addRecord(t *touch) {
	// 1. Decode the former state, nil if there was no Record.
	now, by := p.present[t.key], AuthorOf(t.newest)
	var want *v1alpha1.Record
	if t.existed && t.stateBefore != nil && t.stateBefore.Spec != nil {
		want = &v1alpha1.Record{}
		if json.Unmarshal(t.stateBefore.Spec.Raw, &want.Spec) != nil {
			want = nil
		}
	}
	if want != nil {
		want.Namespace, want.Name = t.key.Namespace, t.key.Name
		want.Labels, want.Annotations = t.stateBefore.Labels, t.stateBefore.Annotations
		if now != nil && slices.Contains(t.stateBefore.LeftOut, "labels") {
			want.Labels = now.Labels
		}
		if now != nil && slices.Contains(t.stateBefore.LeftOut, "annotations") {
			want.Annotations = now.Annotations
		}
		want.Labels = maps.Clone(want.Labels)
		delete(want.Labels, serverLabel)
		want.Status.FQDN = p.fqdnOf(&want.Spec, now)
	}
	// 2. Leave out Records that need or allow no change.
	shown := cmp.Or(want, now)
	switch {
	case shown != nil && !p.selects(want, now), shown == nil && !p.options.Name.IsZero() && t.owner(p.apex) != p.options.Name.String():
		return
	case !t.existed && now == nil, want != nil && now != nil && sameSpec(&want.Spec, &now.Spec):
		return
	case t.existed && want == nil:
		p.addLeft(t, now, by.User(), "the history has no former spec of it; write it by hand")
		return
	case t.challenge:
		p.addLeft(t, shown, by.User(), "it is an ACME challenge, which its client sets and removes")
		return
	case now != nil && now.DeletionTimestamp != nil:
		p.addLeft(t, now, by.User(), "it is being deleted, and waits for its finalizers")
		return
	case now != nil && now.UID != t.uid && (p.zone.Name == "" || !p.isInZone(now)):
		p.addLeft(t, now, by.User(), "it is another Record of this name, outside the zone; change it by hand")
		return
	case now != nil && now.Status.ZoneRef != nil && !p.isInZone(now):
		p.addLeft(t, now, by.User(), "it is in zone "+now.Status.ZoneRef.Namespace+"/"+now.Status.ZoneRef.Name+" now; change it there")
		return
	case now != nil && want == nil && !p.isInZone(now):
		p.addLeft(t, now, by.User(), "it is in no zone now; delete it by hand")
		return
	case !t.existed && t.oldest.Time != nil && now.CreationTimestamp.Time.Before(t.oldest.Time.Add(-2*time.Second)):
		p.addLeft(t, now, by.User(), "it existed already, and was in no zone")
		return
	}
	// 3. Plan the change, unless another client would write the Record again.
	renewer := t.renewer
	if now != nil {
		renewer = cmp.Or(renewer, renewerOf(now))
	}
	if renewer != "" && !p.options.IncludeManaged {
		p.addLeft(t, shown, renewer, "its writer renews it; --include-managed takes it back, and the writer may write it again")
		return
	}
	p.addChange(t, want, now, by, renewer)
}

func (p *planner) addChange(t *touch, want, now *v1alpha1.Record, by Author, renewer string) {
	r := Reversal{Namespace: t.key.Namespace, Name: t.key.Name, Undoes: by, Again: renewer, FQDN: cmp.Or(want, now).Status.FQDN}
	r.change = rrsets.Change{Before: now, After: want}
	switch {
	case now == nil:
		if r.Op = "+"; len(t.stateBefore.LeftOut) > 0 {
			p.addLeft(t, want, by.User(), "the history has no room for its former "+strings.Join(t.stateBefore.LeftOut, " and ")+
				"; write them by hand")
		}
	case want == nil:
		r.Op = "-"
	default:
		r.Op = "~"
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

func applyOver(want, now *v1alpha1.Record) []byte {
	clear := func(want, now map[string]string) map[string]any {
		out := map[string]any{}
		for key := range now {
			if key != serverLabel {
				out[key] = nil
			}
		}
		for key, value := range want {
			out[key] = value
		}
		return out
	}
	spec := map[string]any{"ttl": nil, "rdata": nil, "values": nil, "zoneRef": nil, "description": nil}
	if text, err := json.Marshal(want.Spec); err == nil {
		_ = json.Unmarshal(text, &spec)
	}
	var had map[string]any
	if text, err := json.Marshal(now.Spec); err == nil {
		_ = json.Unmarshal(text, &had)
	}
	maps.DeleteFunc(spec, func(key string, value any) bool { return value == nil && had[key] == nil })
	text, _ := json.Marshal(map[string]any{"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": "Record",
		"metadata": map[string]any{"namespace": want.Namespace, "name": want.Name, "uid": now.UID, "resourceVersion": now.ResourceVersion,
			"labels": clear(want.Labels, now.Labels), "annotations": clear(want.Annotations, now.Annotations)}, "spec": spec})
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

func (p *planner) selects(records ...*v1alpha1.Record) bool {
	return p.options.Name.IsZero() || slices.ContainsFunc(records, func(r *v1alpha1.Record) bool {
		return r != nil && r.Status.FQDN == p.options.Name.String()
	})
}

func (p *planner) addOthers(undone []v1alpha1.HistoryStep) {
	type rows struct {
		count map[string]int // additions less removals, by row
		of    *v1alpha1.HistoryStep
	}
	var order []string
	groups := map[string]*rows{}
	for i := range undone {
		x := &undone[i]
		if x.Way != v1alpha1.WayCascade && len(x.Records) > 0 {
			continue
		}
		by := AuthorOf(x)
		who := by.User()
		g := groups[who]
		if g == nil {
			g = &rows{count: map[string]int{}, of: x}
			groups[who], order = g, append(order, who)
		}
		for _, part := range []struct {
			n    int
			rows []v1alpha1.Row
		}{{-1, x.Removed}, {1, x.Added}} {
			for _, row := range part.rows {
				if p.options.Name.IsZero() || ownerOf(row.Owner, x.FQDN) == p.options.Name.String() {
					g.count[RowLine(row, x.FQDN)] += part.n
				}
			}
		}
	}
	for _, who := range order {
		g := groups[who]
		for _, text := range slices.Sorted(maps.Keys(g.count)) {
			if g.count[text] == 0 {
				continue
			}
			sign := "+ "
			if g.count[text] < 0 {
				sign = "- "
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

func (p *planner) findGaps() {
	from := map[string]string{}
	for i := range p.Changes {
		c := &p.Changes[i]
		if before := c.change.Before; before != nil && (c.Op == "-" || c.FQDN != before.Status.FQDN) {
			from[before.Status.FQDN] = c.Namespace
		}
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		if ns := from[c.FQDN]; c.Op != "-" && ns != "" && ns != c.Namespace {
			c.After = ns
			p.Gaps = append(p.Gaps, fmt.Sprintf("%s passes from namespace %s to %s: it has no values between their change sets", c.FQDN,
				ns,
				c.Namespace))
		}
	}
	slices.Sort(p.Gaps)
	p.Gaps = slices.Compact(p.Gaps)
}

func sameSpec(x, y *v1alpha1.RecordSpec) bool { return equality.Semantic.DeepEqual(x, y) }
