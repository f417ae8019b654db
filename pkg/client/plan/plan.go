// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/client/load"
	"kubi.zone/kubizone/pkg/zone/lawform"
)

type Plan struct {
	Zones      []*ZonePlan   `json:"zones,omitempty"`
	Others     []load.Change `json:"others,omitempty"`
	Notes      []Note        `json:"notes,omitempty"`
	Counts     load.Result   `json:"counts"`
	PassedOver int           `json:"passedOver"`

	byName  map[string]*ZonePlan
	unread  int
	classes *v1alpha1.DNSClassList
}

type ZonePlan struct {
	// Zone is the object, "NAMESPACE/NAME". FQDN is its DNS name, "" if unknown.
	Zone    string        `json:"zone"`
	FQDN    string        `json:"fqdn,omitempty"`
	Changes []load.Change `json:"changes"`
	RRsets  int64         `json:"rrsets,omitempty"`
	// Held is the reason why delivery of the zone is or would be on hold after a mass deletion; "" without a hold.
	Held string `json:"held,omitempty"`
	// Classes are the DNSClasses whose servers get the changes. Unknown says why they cannot be read.
	Classes []string `json:"told"`
	Unknown string   `json:"unknown,omitempty"`
	// Left are the classes that deliver the zone now, but not after the plan's change of spec.dnsClassRefs. If the
	// default classes cannot be read, the reason is an element.
	Left []string `json:"left,omitempty"`
	// Unread is true if the user may not read the Zone. RRsets is then 0.
	Unread bool `json:"-"`

	write *load.Change
}

type Note struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

func (n Note) String() string { return n.Kind + ": " + n.Text }

// New returns an empty plan.
func New() *Plan { return &Plan{byName: make(map[string]*ZonePlan)} }

// addChange adds a change to the plan of its zone. A write of the Zone itself is kept for completePlan, which adds
// the changed entries.
func (r *Plan) addChange(c load.Change) {
	if c.Zone == "" {
		r.Others = append(r.Others, c)
		return
	}
	z := r.byName[c.Zone]
	if z == nil {
		z = &ZonePlan{Zone: c.Zone, Classes: []string{}}
		r.byName[c.Zone] = z
	}
	z.Changes = append(z.Changes, c)
	if c.ZoneBefore != nil || c.ZoneAfter != nil {
		z.write = &c
	}
}

func (r *Plan) AddNote(kind, text string) {
	r.Notes = append(r.Notes, Note{kind, text})
}

// Make has the server decide about all that write sends, with the dry run of the configuration, and keeps none of it.
// After an error the plan is incomplete, or nil.
func (r *Plan) Make(ctx context.Context, with load.Config, write func(*load.Loader) (load.Result, []error)) (*Plan, error) {
	with.Plan, with.Note = r.addChange, r.AddNote
	loader, err := load.New(with)
	if err != nil {
		return nil, err
	}
	var failed []error
	r.Counts, failed = write(loader)
	// Documents that are no objects, or of a kind that this version lacks, count as refused.
	r.Counts.Refused += r.unread
	with.Client.QPS = -1 // the server limits the rate
	client, err := versioned.NewForConfig(with.Client)
	if err == nil {
		err = r.completePlan(ctx, client)
	}
	// Half a plan could be taken for the whole.
	if ctx.Err() != nil {
		return nil, fmt.Errorf("interrupted: the plan is incomplete and not printed, and nothing was written (%w)", context.Cause(ctx))
	}
	return r, errors.Join(append(failed, err)...)
}

// MakeOf plans an apply of the objects.
func (r *Plan) MakeOf(ctx context.Context, with load.Config, read func(*load.Loader) ([]*unstructured.Unstructured, error)) (*Plan, error) {
	return r.Make(ctx, with, func(loader *load.Loader) (load.Result, []error) {
		objects, err := read(loader)
		if err != nil {
			return load.Result{}, []error{err}
		}
		result, err := loader.Apply(ctx, "plan", objects)
		return result, []error{err}
	})
}

var plannedKinds = []string{"Zone", "Delegation", "Record", "DNSClass", "UpdateKey"}

// PickObjects returns the objects of Kubizone in a text. Others, such as a Deployment beside the zones, are counted as
// passed over. Unreadable documents are reported and counted.
func (r *Plan) PickObjects(loader *load.Loader, path string, text []byte) (objects []*unstructured.Unstructured) {
	found, refused := loader.ReadObjects(path, text)
	r.unread += refused
	for _, object := range found {
		if reason, fix := load.UnknownKind(object); reason != "" {
			r.unread += loader.Report(load.ObjectRefusal(path, object, reason, fix), true).Refused
			continue
		}
		if object.GroupVersionKind().Group != v1alpha1.GroupName || !slices.Contains(plannedKinds, object.GetKind()) {
			r.PassedOver++
			continue
		}
		objects = append(objects, object)
	}
	return objects
}

var kindsOfNotes = []string{"refused", "left as it is", "releases", "not taken over", "spelling", "warning"}

// completePlan adds entries that Zones make, sorts changes and notes, and asks the server for holds and classes.
func (r *Plan) completePlan(ctx context.Context, client versioned.Interface) error {
	// 1. Entries by changed Zones. They may be of a parent zone, and add it to byName.
	for _, name := range slices.Sorted(maps.Keys(r.byName)) {
		if write := r.byName[name].write; write != nil {
			if err := r.addEntries(ctx, client.KubizoneV1alpha1().RESTClient(), write); err != nil {
				return err
			}
		}
	}

	// 2. The order does not depend on the order of the manifests, so two plans can be compared.
	order := func(a, b load.Change) int {
		return cmp.Or(strings.Compare(a.Text, b.Text), strings.Compare(b.Op, a.Op))
	}
	slices.SortStableFunc(r.Others, order)
	slices.SortStableFunc(r.Notes, func(a, b Note) int {
		return cmp.Or(slices.Index(kindsOfNotes, a.Kind)-slices.Index(kindsOfNotes, b.Kind), strings.Compare(a.Text, b.Text))
	})

	// 3. Each zone's name, hold and classes.
	for _, name := range slices.Sorted(maps.Keys(r.byName)) {
		z := r.byName[name]
		slices.SortStableFunc(z.Changes, order)
		if err := r.completeZone(ctx, client, z); err != nil {
			return err
		}
		r.Zones = append(r.Zones, z)
	}
	return nil
}

// completeZone sets FQDN, RRsets, Held, Classes and Left of a zone. A Zone that the user may not read is Unread,
// without an error.
func (r *Plan) completeZone(ctx context.Context, client versioned.Interface, z *ZonePlan) error {
	namespace, name, _ := strings.Cut(z.Zone, "/")
	zone, err := client.KubizoneV1alpha1().Zones(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		z.Unknown, z.Unread = "no permission to read the Zone", true
		return nil
	case apierrors.IsNotFound(err):
		// The plan creates the Zone.
		zone = &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
	case err != nil:
		return fmt.Errorf("zone %s: %w", z.Zone, err)
	}
	z.FQDN, z.RRsets = zone.Status.FQDN, int64(zone.Status.RRsetCount)
	if z.Held, err = z.foreseeHold(ctx, client, zone); err != nil {
		return err
	}
	before := zone.DeepCopy()
	if after := z.zoneAfter(); after != nil {
		// From here on, zone has the classes and view after the plan, and before those of now.
		zone.Spec.DNSClassRefs, zone.Status.View = after.Spec.DNSClassRefs, cmp.Or(after.Status.View, after.Spec.View, zone.Status.View)
		z.FQDN = cmp.Or(after.Status.FQDN, z.FQDN)
	}
	z.Classes, z.Unknown, err = r.listClasses(ctx, client, zone)
	if err != nil || equality.Semantic.DeepEqual(before.Spec.DNSClassRefs, zone.Spec.DNSClassRefs) {
		return err
	}
	// Servers of these classes lose the zone: "leaves: CLASS".
	had, unknown, err := r.listClasses(ctx, client, before)
	for _, name := range had {
		if !slices.Contains(z.Classes, name) {
			z.Left = append(z.Left, name)
		}
	}
	if unknown != "" {
		z.Left = append(z.Left, unknown)
	}
	return err
}

// listClasses returns the classes of a zone, or the default classes. If these cannot be read, whyUnknown is the reason.
func (r *Plan) listClasses(ctx context.Context, client versioned.Interface, zone *v1alpha1.Zone) (names []string, whyUnknown string,
	err error) {
	names = []string{}
	for _, ref := range zone.Spec.DNSClassRefs {
		names = append(names, class.NameOf(zone.Namespace, ref))
	}
	if len(names) > 0 {
		return names, "", nil
	}
	if r.classes == nil {
		r.classes, err = client.KubizoneV1alpha1().DNSClasses().List(ctx, metav1.ListOptions{})
	}
	if err != nil {
		// The next zone asks again.
		r.classes = nil
		if apierrors.IsForbidden(err) {
			return names, "the default classes, which may not be read: a ClusterRoleBinding to kubizone-class-viewer shows them", nil
		}
		return names, "", fmt.Errorf("DNSClasses: %w", err)
	}
	for i := range r.classes.Items {
		c := &r.classes.Items[i]
		if !class.IsDefault(c) || !class.Delivers(c, zone.Status.View) {
			continue
		}
		switch {
		case class.Admits(c, zone.Namespace, nil):
			names = append(names, c.Name)
		case c.Spec.Namespaces != nil && c.Spec.Namespaces.Selector != nil:
			// Which labels the namespace has is not known here, so the condition is printed.
			names = append(names, c.Name+" (where the labels of the namespace are those of its selector)")
		}
	}
	return names, "", nil
}

// foreseeHold returns a warning if a mass deletion holds the zone, or would by this import. A name kept by other
// Records counts as removed, because a needless warning harms less than a missed hold.
func (z *ZonePlan) foreseeHold(ctx context.Context, client versioned.Interface, zone *v1alpha1.Zone) (string, error) {
	settled := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionSettled)
	isHeld := settled != nil && settled.Reason == v1alpha1.ReasonMassDeletion
	if isHeld {
		return "is held now: " + settled.Message, nil
	}
	if zone.Status.FQDN == "" {
		return "", nil
	}

	// Count removed less added RRsets of the zone's own namespace.
	counted := z.countRRsets(func(namespace string) bool { return namespace == zone.Namespace })
	lost := 0
	for _, added := range counted {
		switch {
		case added < 0:
			lost++
		case added > 0:
			lost--
		}
	}

	stored, err := lawform.Zone(zone)
	if err != nil {
		return "", err
	}
	losesNameServers, err := z.losesNameServers(ctx, client, zone, counted[zone.Status.FQDN+" NS"])
	if err != nil {
		return "", err
	}

	excess := stored.ForeseeHold(lost, losesNameServers)
	if excess == nil {
		return "", nil
	}
	if losesNameServers {
		return fmt.Sprintf("this would hold the zone (S7.6): it lacks %s; the annotation %s lets that through", excess,
			v1alpha1.AnnotationPublishDeletions), nil
	}
	return fmt.Sprintf("this would hold the zone (S7.5) if its present RRsets are older than ten minutes: it lacks %s; the annotation "+
		"%s lets that through", excess, v1alpha1.AnnotationPublishDeletions), nil
}

func (z *ZonePlan) countRRsets(of func(namespace string) bool) map[string]int {
	counted := make(map[string]int)
	for _, c := range z.Changes {
		if key := c.FQDN + " " + c.Type; c.FQDN != "" && of(c.Namespace) {
			counted[key] += map[string]int{"+": 1, "-": -1}[c.Op]
		}
	}
	return counted
}

// Removed returns the number of RRsets that lose values.
func (z *ZonePlan) Removed() (n int) {
	counted := make(map[string]int)
	for _, c := range z.Changes {
		counted[c.FQDN+" "+c.Type] += c.Values
	}
	for _, by := range counted {
		if by < 0 {
			n++
		}
	}
	return n
}

func (z *ZonePlan) IsRemoved() bool {
	return z.write != nil && z.write.ZoneBefore != nil && z.write.ZoneAfter == nil
}

// zoneAfter returns the Zone after the plan, nil if the plan does not write the Zone, or removes it.
func (z *ZonePlan) zoneAfter() *v1alpha1.Zone {
	if z.write == nil {
		return nil
	}
	return z.write.ZoneAfter
}

// losesNameServers reports whether the zone has no apex NS after the plan: neither spec.nameServers nor Records. grown
// is the planned number of added less removed NS RRsets at the apex. Without the right to list Records, the answer is
// false.
func (z *ZonePlan) losesNameServers(ctx context.Context, client versioned.Interface, zone *v1alpha1.Zone, grown int) (bool, error) {
	after := cmp.Or(z.zoneAfter(), zone)
	// Nothing goes: name servers remain in the Zone, or the plan takes neither Records nor fields away.
	if len(after.Spec.NameServers) > 0 || grown >= 0 && len(zone.Spec.NameServers) == 0 {
		return false, nil
	}
	records, err := client.KubizoneV1alpha1().Records(zone.Namespace).List(ctx, metav1.ListOptions{FieldSelector: fields.Set{
		v1alpha1.FieldRecordZone: zone.Namespace + "/" + zone.Name, v1alpha1.FieldRecordFQDN: zone.Status.FQDN,
		v1alpha1.FieldRecordType: "NS"}.String()})
	if apierrors.IsForbidden(err) {
		return false, nil
	}
	return err == nil && len(records.Items)+grown <= 0, err
}

// makeTitle returns the title of a zone's part: name, object, and the number of changes by kind. Changes that depend on
// another object of the plan are counted apart.
func (z *ZonePlan) makeTitle() string {
	counts := make(map[string]int)
	undecided := 0
	for _, c := range z.Changes {
		if c.Undecided {
			undecided++
		} else {
			counts[c.Op]++
		}
	}
	name := z.Zone
	if z.FQDN != "" {
		name = z.FQDN + " (" + z.Zone + ")"
	}
	title := fmt.Sprintf("zone %s: %d added, %d changed, %d removed", name, counts["+"], counts["~"], counts["-"])
	if undecided > 0 {
		title += fmt.Sprintf(", %d decided later", undecided)
	}
	return title
}

func (z *ZonePlan) describeClasses() string {
	switch {
	case z.Unknown != "":
		return "not known: " + z.Unknown
	case len(z.Classes) == 0:
		return "no class"
	}
	return strings.Join(z.Classes, ", ")
}

func (r *Plan) Summary() string {
	text := r.Counts.String()
	if r.PassedOver > 0 {
		text += fmt.Sprintf(", %d of other kinds passed over", r.PassedOver)
	}
	return text + " (plan: nothing is kept)"
}

// Section is a part of a plan: the changes of a zone, those outside all zones, or the notes.
type Section struct {
	Title string
	// IsDiff is true if the lines begin with +, ~ or -.
	IsDiff bool
	Lines  []string
	// Classes, Held and Left are as in ZonePlan; "" without a zone.
	Classes, Held, Left string
}

func (r *Plan) Sections() (sections []Section) {
	for _, z := range r.Zones {
		sections = append(sections, Section{z.makeTitle(), true, linesOf(z.Changes), z.describeClasses(), z.Held,
			strings.Join(z.Left, ", ")})
	}
	if len(r.Others) > 0 {
		sections = append(sections, Section{Title: "in no zone", IsDiff: true, Lines: linesOf(r.Others)})
	}
	if len(r.Notes) > 0 {
		sections = append(sections, Section{Title: "refusals and warnings", Lines: linesOf(r.Notes)})
	}
	return sections
}

func linesOf[T fmt.Stringer](all []T) (lines []string) {
	for _, one := range all {
		lines = append(lines, one.String())
	}
	return lines
}
