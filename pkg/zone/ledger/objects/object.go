// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/value"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/lawform"
)

// ObjectCodec encodes a resource's objects for etcd. A nil Transformer means no encryption.
type ObjectCodec struct {
	Codec       runtime.Codec
	Transformer value.Transformer
}

// Encode returns obj's stored form, and removes obj's resourceVersion.
func (c ObjectCodec) Encode(ctx context.Context, key string, obj runtime.Object) ([]byte, error) {
	if err := (storage.APIObjectVersioner{}).PrepareObjectForStorage(obj); err != nil {
		return nil, err
	}
	data, err := runtime.Encode(c.Codec, obj)
	if err == nil && c.Transformer != nil {
		data, err = c.Transformer.TransformToStorage(ctx, data, value.DefaultContext(key))
	}
	return data, err
}

// Decode decodes an object stored under a key. The revision becomes the object's resourceVersion.
func (c ObjectCodec) Decode(ctx context.Context, key string, data []byte, rev int64, into runtime.Object) error {
	data, err := c.decrypt(ctx, key, data)
	if err != nil {
		return err
	}
	if _, _, err = c.Codec.Decode(data, nil, into); err != nil {
		return err
	}
	return (storage.APIObjectVersioner{}).UpdateObject(into, uint64(rev))
}

func (c ObjectCodec) DecodeNew(ctx context.Context, key string, data []byte) (runtime.Object, error) {
	data, err := c.decrypt(ctx, key, data)
	if err != nil {
		return nil, err
	}
	return runtime.Decode(c.Codec, data)
}

func (c ObjectCodec) decrypt(ctx context.Context, key string, data []byte) ([]byte, error) {
	if c.Transformer == nil {
		return data, nil
	}
	data, _, err := c.Transformer.TransformFromStorage(ctx, data, value.DefaultContext(key))
	return data, err
}

// DescribeHold names the deletions that stop a zone's delivery, and the ways to undo or publish them.
func DescribeHold(z *law.Zone, h *law.Held) string {
	e, back := z.ExcessOf(h), []string(nil)
	if e.NameServers {
		back = append(back, "an NS record at the apex, or spec.nameServers")
	}
	if e.ExceedsPercent() {
		back = append(back, fmt.Sprintf("RRsets until no more than %d are missing", e.Allowed()))
	}
	return fmt.Sprintf("the zone's own namespace has removed %s, so serial %d stays delivered; the zone's owner puts back %s; "+
		"or publishes the deletions: kubectl annotate zone %s -n %s --overwrite %s=%d",
		e, h.Serial, strings.Join(back, ", and "), z.Name, z.Namespace, v1alpha1.AnnotationPublishDeletions,
		law.ToPublish(h.Serial, z.Publish))
}

// deletionsOf converts the counts of a zone's removals to status.deletions, nil without any.
func deletionsOf(d law.Deletions) *v1alpha1.ZoneDeletions {
	if d == (law.Deletions{}) {
		return nil
	}
	stock := func(s law.Stock) v1alpha1.ZoneStock {
		return v1alpha1.ZoneStock{RRsets: int64(s.RRsets), Own: int64(s.Own)}
	}
	o := &v1alpha1.ZoneDeletions{Own: int64(d.Own), PeriodStart: d.PeriodStart}
	for _, s := range d.LeastStocks {
		o.Least = append(o.Least, stock(s))
	}
	if d.PeakStock != nil {
		o.Most = new(stock(*d.PeakStock))
	}
	return o
}

// AdoptedOrWaiting returns an adopted Record's contribution to its zone or, without status.zoneRef, the name and the
// zone for which the Record waits. The other result is nil.
func AdoptedOrWaiting(o *v1alpha1.Record) (*law.Adoption, *law.Waiting, error) {
	var fqdn name.Name
	if o.Status.FQDN != "" {
		n, err := name.Parse(o.Status.FQDN)
		if err != nil {
			return nil, nil, fmt.Errorf("record %s/%s: status.fqdn: %w", o.Namespace, o.Name, err)
		}
		fqdn = n
	}

	if o.Status.ZoneRef == nil {
		return nil, &law.Waiting{View: o.Status.View, FQDN: fqdn, Zone: lawform.ZoneRef(o.Spec.ZoneRef, o.Namespace)}, nil
	}
	r, err := lawform.Record(o)
	if err != nil {
		return nil, nil, fmt.Errorf("record %s/%s: %w", o.Namespace, o.Name, err)
	}

	a := &law.Adoption{Zone: law.Ref{Namespace: o.Status.ZoneRef.Namespace, Name: o.Status.ZoneRef.Name, UID: string(o.Status.ZoneRef.UID)},
		FQDN: fqdn, Admission: rules.Admission(o.Status.Admission)}
	if end := o.Status.EndsAt; end != nil {
		a.EndsAt = end.Unix()
	}
	// A relative name, such as www, is the owner. For an absolute name the owner stays zero.
	var owner name.Rel
	if !r.Absolute() {
		if owner, err = name.ParseRel(o.Spec.DomainName); err != nil {
			return nil, nil, fmt.Errorf("record %s/%s: spec.domainName: %w", o.Namespace, o.Name, err)
		}
	}

	a.Contribution = r.ContributionAt(owner)
	return a, nil, nil
}

func (pl *Placer) setCondition(conditions *[]metav1.Condition, kind, status, reason, message string, generation int64) {
	meta.SetStatusCondition(conditions, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason,
		Message:            message,
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(pl.Now().UTC().Truncate(1e9))})
}

// PlaceRecord writes a decision into the status and label of a Record. Without a zone (p.Zone is nil) the Record waits.
func (pl *Placer) PlaceRecord(o *v1alpha1.Record, p *law.Placement) {
	o.Status.ObservedGeneration = o.Generation
	o.Status.FQDN, o.Status.View = p.FQDN.String(), p.View
	o.Status.ZoneRef, o.Status.Serial, o.Status.EndsAt, o.Status.Admission = nil, 0, nil, string(p.Admission)
	if p.Zone == nil {
		delete(o.Labels, v1alpha1.LabelParentZone)
		pl.setCondition(&o.Status.Conditions, v1alpha1.ConditionAdopted, "False", p.Reason, p.Message, o.Generation)
		pl.setCondition(&o.Status.Conditions, v1alpha1.ConditionReady, "False", v1alpha1.ReasonNotAdopted, "no zone has adopted the "+
			"record", o.Generation)
		dropStalled(&o.Status.Conditions, o.Generation)
		return
	}

	o.Status.ZoneRef = &v1alpha1.AdoptingZone{Namespace: p.Zone.Namespace, Name: p.Zone.Name, UID: types.UID(p.Zone.UID)}
	o.Status.Serial = int64(p.Serial)
	setParentLabel(o, p.Zone)
	if p.EndsAt != 0 {
		o.Status.EndsAt = &metav1.Time{Time: time.Unix(p.EndsAt, 0).UTC()}
	}

	pl.setCondition(&o.Status.Conditions, v1alpha1.ConditionAdopted, "True", p.Reason, p.Message, o.Generation)
	if p.Stays {
		// The zone's content stays the same, so Ready is still right.
		return
	}
	pl.setReady(&o.Status.Conditions, pl.isDelivered(p.HasClass, p.Zone.Namespace, p.View), p.Served, o.Generation)
	dropStalled(&o.Status.Conditions, o.Generation)
}

// dropStalled removes Stalled if the cause is gone, or the object has changed and may be right.
func dropStalled(conditions *[]metav1.Condition, generation int64) {
	stalled := meta.FindStatusCondition(*conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.ObservedGeneration == generation && slices.ContainsFunc(*conditions, func(c metav1.Condition) bool {
		return c.Type != v1alpha1.ConditionStalled && c.Status != metav1.ConditionTrue && c.Reason == stalled.Reason
	}) {
		return
	}
	meta.RemoveStatusCondition(conditions, v1alpha1.ConditionStalled)
}

// setReady resets the condition Ready in the write of new content, so no client takes an old True for this write. If
// delivers is true, a class is in force, and confirms the write later.
func (pl *Placer) setReady(conditions *[]metav1.Condition, delivers, served bool, generation int64) {
	status, reason, message := "Unknown", v1alpha1.ReasonPending, "written; not yet confirmed by every class in force"
	before := meta.FindStatusCondition(*conditions, v1alpha1.ConditionReady)
	switch {
	case delivers && before != nil && before.Status == metav1.ConditionUnknown:
		reason, message = before.Reason, before.Message // a known cause concerns this write, too
	case delivers: // not yet confirmed
	case served: // by no class, so without confirmation
		status, reason, message = "True", v1alpha1.ReasonNoClass, class.MessageNoClass
	default:
		message = "no class is in force; the zone is not served yet: its conditions Delegated, Servable and Settled say why, " +
			"or a former class has not withdrawn it yet"
	}
	pl.setCondition(conditions, v1alpha1.ConditionReady, status, reason, message, generation)
}

func (pl *Placer) isDelivered(named bool, namespace, view string) bool {
	return named || pl.HasDefaultClass != nil && pl.HasDefaultClass(namespace, view)
}

// setParentLabel sets the label kubi.zone/parent-zone, by which clients select the Records and child zones of a zone,
// or removes the label if zone is nil.
func setParentLabel(o metav1.Object, zone *law.Ref) {
	labels := o.GetLabels()
	if zone == nil {
		delete(labels, v1alpha1.LabelParentZone)
		return
	}
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.LabelParentZone] = parentLabel(zone.Namespace, zone.Name)
	o.SetLabels(labels)
}

// PlaceZone writes a decision into the status and label of a Zone: conditions, serial, hash and counts. A pending Zone
// has neither name nor content.
func (pl *Placer) PlaceZone(o *v1alpha1.Zone, c *law.ZoneChange) {
	// 1. The zone above.
	z, s := c.Zone, &o.Status
	if c.Delegated != nil {
		pl.setCondition(&s.Conditions, v1alpha1.ConditionDelegated, c.Delegated.Status, c.Delegated.Reason, c.Delegated.Message,
			o.Generation)
	}

	// 2. A pending zone has no name, so no serial and no content.
	if z.Pending {
		if c.EndedZone != nil {
			// No rule delegates the zone any more (S3.7): all status of the name goes.
			*s = v1alpha1.ZoneStatus{ObservedGeneration: s.ObservedGeneration, Conditions: s.Conditions,
				EndsAt: &metav1.Time{Time: pl.Now().UTC().Truncate(1e9)}}
			meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionServable)
			meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionSettled)
			setParentLabel(o, nil)
		}

		if !z.Ending {
			// Providers have withdrawn the zone, or the zone never had a name.
			s.EndsAt = nil
		}
		s.View = z.View
		pl.setCondition(&s.Conditions, v1alpha1.ConditionReady, "False", v1alpha1.ReasonNotDelegatedOrServable, "the zone waits for the "+
			"Zone of its zoneRef, or for a zone that delegates it", o.Generation)
		dropStalled(&s.Conditions, o.Generation)
		return
	}

	// 3. The end, if no rule of the zone above lists this zone.
	switch {
	case c.Holding.Withdrawn == "":
		s.EndsAt = nil
	case c.EndsAt != 0:
		s.EndsAt = &metav1.Time{Time: time.Unix(c.EndsAt, 0).UTC()}
	}

	// 4. Name and content.
	if s.FQDN != z.FQDN().String() {
		s.DNSSEC = nil // the keys of a former name
	}
	s.FQDN, s.View = z.FQDN().String(), z.View
	s.Serial, s.ContentGeneration = int64(z.Serial), int64(z.N)
	if z.Changed != 0 {
		s.SerialTime = &metav1.Time{Time: time.Unix(z.Changed, 0).UTC()}
	}
	state := sethash.State(z.State)
	s.ContentState = state.String()
	s.Hash = z.Header.Hash(state)
	s.EntryCount, s.RRsetCount = int64(content.EntryCount(z.NSSets, z.Rows)), int64(z.RRsets)
	s.Deletions = deletionsOf(z.Deletions)
	s.ParentRef = nil
	if p := c.Holding.Parent; p != nil {
		s.ParentRef = &v1alpha1.ZoneParent{Namespace: p.Namespace, Name: p.Name}
	}

	setParentLabel(o, c.Holding.Parent)

	// 5. Settled: do name servers get the content (S7.2)?
	switch held := c.Holding.Held; {
	case held != nil: // first, as a person must act
		pl.setCondition(&s.Conditions, v1alpha1.ConditionSettled, "False", v1alpha1.ReasonMassDeletion, DescribeHold(z, held),
			o.Generation)
	case len(c.Holding.Works) == 0:
		pl.setCondition(&s.Conditions, v1alpha1.ConditionSettled, "True", v1alpha1.ReasonSettled, "no pending changes", o.Generation)
	default:
		pl.setCondition(&s.Conditions, v1alpha1.ConditionSettled, "False", v1alpha1.ReasonCascading, "records or zones are being adopted "+
			"or released", o.Generation)
	}

	if c.Settled() {
		// Deliveries go up to this serial. During a hold the former one stays (S7.8).
		s.SettledSerial = s.Serial
	}

	switch {
	case c.Servable == nil:
	case pl.hasClassNameServers(o):
		pl.setCondition(&s.Conditions, v1alpha1.ConditionServable, "True", v1alpha1.ReasonClassNameServers, "every class has name "+
			"servers of its own for the zone, so the NS at its apex are not delivered", o.Generation)
	default:
		pl.setCondition(&s.Conditions, v1alpha1.ConditionServable, c.Servable.Status, c.Servable.Reason, c.Servable.Message, o.Generation)
	}

	// 6. Ready, until the controllers report.
	delivers := pl.isDelivered(z.HasClass, o.Namespace, z.View)
	isServed := lawform.Served(o) && meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionSettled)
	ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)

	// The Ready of controllers stays, unless this write gave the zone its first class or took the last.
	if c.Step != nil || ready == nil || !delivers && (isServed || ready.Status == "True") || delivers &&
		ready.Reason == v1alpha1.ReasonNoClass {
		pl.setReady(&s.Conditions, delivers, isServed, o.Generation)
	}

	dropStalled(&s.Conditions, o.Generation)
}

// PlaceDelegation writes a decision into the status of a Delegation. Without a zone (p.Zone is nil) the Delegation is
// not in force.
func (pl *Placer) PlaceDelegation(o *v1alpha1.Delegation, p *law.DelegationPlacement) {
	o.Status.ObservedGeneration = o.Generation
	accepted := "False"
	if p.Zone != nil {
		accepted = "True"
		o.Status.ZoneRef = &v1alpha1.AdoptingZone{Namespace: p.Zone.Namespace, Name: p.Zone.Name, UID: types.UID(p.Zone.UID)}
	} else {
		o.Status.ZoneRef, o.Status.Records = nil, 0
	}
	// Tools wait for Ready on every kind.
	for _, condition := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionReady} {
		pl.setCondition(&o.Status.Conditions, condition, accepted, p.Reason, p.Message, o.Generation)
	}
}

// parentLabel returns `<name>.<namespace>`, cut with a short hash if too long for a label.
func parentLabel(namespace, object string) string {
	v := object + "." + namespace
	if len(v) <= validation.LabelValueMaxLength {
		return v
	}
	sum := sha256.Sum256([]byte(v))
	return strings.TrimRight(v[:validation.LabelValueMaxLength-11], "-.") + "-" + hex.EncodeToString(sum[:5])
}

// IsMoving reports whether a Record has left a zone for another that has not adopted it yet.
func IsMoving(o *v1alpha1.Record) bool {
	adopted := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionAdopted)
	return o.Status.ZoneRef == nil && adopted != nil && adopted.Reason == law.ReasonMoving
}

// RenamedField returns the field by which an update would rename or move a zone, or "". Another spelling, such as the
// absolute for the relative name, is no rename.
func RenamedField(before, after *v1alpha1.Zone) string {
	oldRef, newRef := lawform.ZoneRef(before.Spec.ZoneRef, before.Namespace), lawform.ZoneRef(after.Spec.ZoneRef, after.Namespace)
	switch {
	case !hasFQDN(before, after.Spec.DomainName):
		return "spec.domainName"
	case before.Spec.View != after.Spec.View:
		return "spec.view"
	case !apiequality.Semantic.DeepEqual(oldRef, newRef):
		return "spec.zoneRef"
	}
	return ""
}

func hasFQDN(zone *v1alpha1.Zone, domainName string) bool {
	if name.IsAbsolute(domainName) {
		n, err := name.Parse(domainName)
		return err == nil && n.String() == zone.Status.FQDN
	}
	x, err1 := name.ParseRel(zone.Spec.DomainName)
	// WWW and www are the same name, though not the same text.
	y, err2 := name.ParseRel(domainName)
	return zone.Spec.DomainName == domainName || !name.IsAbsolute(zone.Spec.DomainName) && err1 == nil && err2 == nil && x == y
}

// SamePlace reports whether an update keeps the fields that choose the Record's zone.
func SamePlace(before, after *v1alpha1.Record) bool {
	x, y := &before.Spec, &after.Spec
	return x.DomainName == y.DomainName && x.View == y.View && (x.Type == "DS") == (y.Type == "DS") &&
		apiequality.Semantic.DeepEqual(x.ZoneRef, y.ZoneRef)
}

// Placer writes decisions into the status of objects.
type Placer struct {
	Now             func() time.Time
	HasDefaultClass func(namespace, view string) bool // nil means false
	HasNameServers  func(*v1alpha1.Zone) bool         // nil means false
}

func (pl *Placer) hasClassNameServers(o *v1alpha1.Zone) bool {
	return pl.HasNameServers != nil && pl.HasNameServers(o)
}

func (pl *Placer) IsServableStale(o *v1alpha1.Zone) bool {
	servable := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionServable)
	return servable != nil && (servable.Reason == v1alpha1.ReasonClassNameServers) != pl.hasClassNameServers(o)
}

// ReadPrerequisites converts the prerequisites of a change set. The error begins with the field, for example
// spec.prerequisites[0].type.
func ReadPrerequisites(list []v1alpha1.ChangeSetPrerequisite) (all []records.Requirement, err error) {
	for i := range list {
		p := &list[i]
		// An absent exists means true. Without a type, any data at the name counts.
		r := records.Requirement{Exists: p.Exists == nil || *p.Exists}
		if r.Name, err = name.Parse(p.Name); err != nil {
			return nil, fmt.Errorf("spec.prerequisites[%d].name: %w", i, err)
		}
		if p.Type != "" {
			if r.Type, err = rdata.ParseType(p.Type); err != nil {
				return nil, fmt.Errorf("spec.prerequisites[%d].type: %w", i, err)
			}
		}

		for _, text := range p.Values {
			// Parsed as stored, so that a value which a newer version refuses may still be required.
			v, err := rdata.ParseStored(r.Type, text)
			if err != nil {
				return nil, fmt.Errorf("spec.prerequisites[%d].values: %w", i, err)
			}
			r.Values = append(r.Values, v)
		}

		all = append(all, r)
	}

	return all, nil
}
