// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/reasons"
	"kubi.zone/kubizone/pkg/client/find"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Judge returns a link for each stage of a record's way to resolvers, from the rule to the parent zone.
func Judge(f *Facts) []Link {
	j := &judgement{Facts: f}
	switch {
	case f.Absent != nil:
		j.judgeAbsent()
	case f.Origin != "":
		j.add(KindRecord, "", OK, "%s %s %s %s", f.AskedName, f.Type, shorten(strings.Join(f.ExpectedData, ", "), maxData), f.Origin)
	case f.Record != nil && !j.judgeRule():
		return j.links
	}
	j.judgeAlias()
	if f.Zone != nil {
		j.judgeZone()
		j.judgeSerial()
		j.judgeClasses()
		if f.Absent == nil { // a free name has no Ready
			j.placeReady()
		}
		j.explainClasses()
		j.judgeServers()
		j.judgeParents()
		j.endPending()
	}
	return j.links
}

// endPending replaces the advice to wait, where the delivery has lasted too long for that.
func (j *judgement) endPending() {
	for i := range j.links {
		if l := &j.links[i]; l.Reason == v1alpha1.ReasonPending && l.State.IsBad() && l.Mends == reasons.None && j.waitsLong() {
			l.setStep(reasons.Platform, "find the server behind, and see its log for transfers of the zone (docs/operations.md, "+
				"KubizoneSecondaryBehind)")
		}
	}
}

func (j *judgement) addLack(kind Kind, of, right string) {
	j.add(kind, of, Unknown, "not shown: you lack the right to %s", right).
		setStep(reasons.Platform, "grant the right to this user, or run the command as an administrator")
}

func isTrue(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

func hasReason(c *metav1.Condition, reason string) bool { return c != nil && c.Reason == reason }

// isUnmet reports whether a condition is set, and is not true.
func isUnmet(c *metav1.Condition) bool { return c != nil && c.Status != metav1.ConditionTrue }

func (j *judgement) judgeAbsent() {
	a := j.Absent
	role, step := reasons.You, "create a Record in namespace "+a.Namespace
	switch {
	case a.Review == nil && a.Lack == "": // an address
		step = "create a Record"
	case a.Review == nil:
		j.addLack(KindRule, "", a.Lack)
		step = "create a Record in a namespace that the zone's rules allow the name"
	case a.Review.Allowed:
		j.add(KindRule, "", OK, "namespace %s may write %s by the rule %q of zone %s", a.Namespace, j.Type, a.Review.Rule, a.Review.Zone)
	default:
		j.add(KindRule, "", Unknown, "namespace %s may not write %s: %s", a.Namespace, j.Type, a.Review.Reason)
		role, step = reasons.ZoneOwner, "add a rule for the namespace that is to have the name"+contactOf(a.Review)
	}
	switch {
	case a.WritersLack != "":
		j.addLack(KindRule, "of other namespaces", a.WritersLack)
	case len(a.Writers) > 0:
		named := strings.Join(a.Writers[:min(len(a.Writers), maxWriters)], ", ")
		if more := len(a.Writers) - maxWriters; more > 0 {
			named += fmt.Sprintf(" and %d more", more)
		}
		j.add(KindRule, "of other namespaces", OK, "a rule of the zone allows the name to namespace %s", named)
		role, step = reasons.You, "create a Record in a namespace with a rule: "+named
	}
	switch {
	case a.Cut != "":
		j.add(KindRecord, "", Unknown, "%s delegates the name to other servers", a.Cut).
			setStep(reasons.You, "ask these servers, or remove the delegation")
	case len(a.OtherTypes) > 0:
		j.add(KindRecord, "", Fails, "no Record of this type: the name has %s", strings.Join(a.OtherTypes, ", ")).setStep(role, "%s", step)
	default:
		j.add(KindRecord, "", Fails, "no Record has it").setStep(role, "%s", step)
	}
}

func contactOf(review *v1alpha1.NameReviewStatus) string {
	if review.Contact == "" {
		return ""
	}
	return " (contact: " + review.Contact + ")"
}

func (j *judgement) judgeRule() bool {
	r := j.Record
	adopted := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionAdopted)
	switch {
	case adopted == nil:
		j.add(KindRule, "", Unknown, "the server has not decided yet")
		return false
	case !isTrue(adopted):
		state := Fails
		if adopted.Reason == v1alpha1.ReasonMoving {
			state = Waits
		}
		j.add(KindRule, "", state, "%s", adopted.Message).explain(adopted.Reason, reasons.OfRecord)
		return false
	case r.Status.EndsAt != nil:
		j.add(KindRule, "", Waits, "%s", adopted.Message).explain(adopted.Reason, reasons.OfRecord)
	default:
		j.add(KindRule, "", OK, "%s", adopted.Message).explain(adopted.Reason, reasons.OfRecord)
	}
	data := shorten(strings.Join(find.DataOf(r), ", "), maxData)
	asked := ""
	if !j.AskedName.IsZero() && j.AskedName.String() != r.Status.FQDN {
		asked = ", a wildcard that answers for " + j.AskedName.String()
	}
	switch {
	case r.DeletionTimestamp != nil:
		j.add(KindRecord, r.Namespace+"/"+r.Name, Waits, "being deleted, in the zone until its finalizers are gone: %s",
			strings.Join(r.Finalizers, ", ")).explain(v1alpha1.ReasonTerminating, reasons.OfRecord)
	case r.Status.ObservedGeneration != 0 && r.Status.ObservedGeneration < r.Generation:
		j.add(KindRecord, r.Namespace+"/"+r.Name, Waits, "its last change is not decided yet")
	default:
		until := ""
		if at := r.Spec.ExpiresAt; at != nil {
			until = ", until it expires at " + at.UTC().Format(time.RFC3339)
		}
		j.add(KindRecord, r.Namespace+"/"+r.Name, OK, "%s %s %s%s%s", r.Status.FQDN, strings.ToUpper(r.Spec.Type), data, asked, until)
	}
	return r.Status.ZoneRef != nil
}

func (j *judgement) conditionsOf() []metav1.Condition {
	if j.Record != nil {
		return j.Record.Status.Conditions
	}
	if j.Zone.Object != nil {
		return j.Zone.Object.Status.Conditions
	}
	return nil
}

func (j *judgement) isDelivered() bool {
	return meta.IsStatusConditionTrue(j.conditionsOf(), v1alpha1.ConditionReady)
}

func (j *judgement) judgeZone() {
	z, o := j.Zone, j.Zone.Object
	of := cmp.Or(z.FQDN.String(), z.Namespace+"/"+z.Name)
	if o == nil {
		j.addLack(KindZone, of, z.Lack)
		return
	}
	delegated := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionDelegated)
	servable := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionServable)
	ready := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case o.DeletionTimestamp != nil:
		j.add(KindZone, of, Waits, "Zone %s/%s is being deleted, and served until its classes have withdrawn it", z.Namespace, z.Name).
			explain(v1alpha1.ReasonZoneTerminating, reasons.OfRecord)
	case isUnmet(delegated):
		j.add(KindZone, of, Fails, "%s", delegated.Message).explain(delegated.Reason, reasons.OfZone)
	case o.Status.EndsAt != nil && delegated != nil:
		j.add(KindZone, of, Waits, "%s", delegated.Message).explain(v1alpha1.ReasonDelegationWithdrawn, reasons.OfZone)
	case isUnmet(servable) && hasReason(ready, v1alpha1.ReasonNotDelegatedOrServable):
		j.add(KindZone, of, Fails, "%s", servable.Message).explain(servable.Reason, reasons.OfZone)
	case o.Annotations[v1alpha1.AnnotationPaused] == "true":
		j.judgePause(of)
	default:
		j.add(KindZone, of, OK, "Zone %s/%s has its name and name servers", z.Namespace, z.Name)
	}
}

func (j *judgement) judgePause(of string) {
	z := j.Zone
	if j.isDelivered() {
		j.add(KindZone, of, OK, "Zone %s/%s is paused: later changes are not delivered", z.Namespace, z.Name)
		return
	}
	// Ready names this cause only later.
	j.add(KindZone, of, Waits, "Zone %s/%s is paused: changes are not delivered", z.Namespace, z.Name).
		explain(v1alpha1.ReasonPaused, reasons.OfReady)
}

func (j *judgement) judgeSerial() {
	o := j.Zone.Object
	has := int64(0)
	switch {
	case j.Record != nil:
		has = j.Record.Status.Serial
	case o != nil:
		has = o.Status.Serial
	default:
		return
	}
	of := fmt.Sprint(has)
	if o == nil {
		j.add(KindSerial, of, OK, "the zone has the Record since serial %d", has)
		return
	}
	settled := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionSettled)
	isBehind := isUnmet(settled) && serial.Serial(has).Ahead(serial.Serial(o.Status.SettledSerial))
	switch {
	case isBehind && j.Absent == nil:
		state := Waits
		if settled.Reason == v1alpha1.ReasonMassDeletion {
			state = Fails
		}
		j.add(KindSerial, of, state, "%s", settled.Message).explain(settled.Reason, reasons.OfZone)
	case isUnmet(settled):
		j.add(KindSerial, of, OK, "delivered is serial %d; later changes wait: %s", o.Status.SettledSerial, settled.Message).
			explain(settled.Reason, reasons.OfZone)
	default:
		j.add(KindSerial, of, OK, "the zone is at serial %d, all of which is to be delivered", o.Status.Serial)
	}
}

func (j *judgement) judgeClasses() {
	z := j.Zone
	ready := meta.FindStatusCondition(j.conditionsOf(), v1alpha1.ConditionReady)
	switch {
	case j.Absent != nil:
		return
	case isTrue(ready) && ready.Reason == v1alpha1.ReasonNoClass:
		j.add(KindClass, "", Unknown, "%s", ready.Message).explain(ready.Reason, reasons.OfReady).
			setStep(reasons.ZoneOwner, "name a class in spec.dnsClassRefs, if secondaries do not transfer from the primary by themselves")
	case z.DeliveriesLack != "" && isTrue(ready):
		j.add(KindClass, "", OK, "%s", ready.Message)
	case z.DeliveriesLack != "":
		j.addLack(KindClass, "", z.DeliveriesLack)
	}
	for n := range z.Deliveries {
		j.judgeDelivery(&z.Deliveries[n], isTrue(ready))
	}
}

func (j *judgement) judgeDelivery(d *v1alpha1.Delivery, delivered bool) {
	of, s, want := class.NameOf(d.Namespace, d.Spec.ClassRef), &d.Status, int64(0)
	rrset := ""
	if j.Record != nil {
		want, rrset = j.Record.Status.Serial, j.Record.Status.FQDN+" "+strings.ToUpper(j.Record.Spec.Type)
	} else if j.Zone.Object != nil {
		want = j.Zone.Object.Status.SettledSerial
	}
	refused := slices.IndexFunc(s.Refused, func(r v1alpha1.DeliveryRefusal) bool { return strings.EqualFold(r.RRset, rrset) })
	has := s.Serial != 0 && !serial.Serial(want).Ahead(serial.Serial(s.Serial))
	ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	switch {
	case refused >= 0:
		r := &s.Refused[refused]
		j.add(KindClass, of, Fails, "the provider refuses the RRset: %s", r.Message).explain(r.Reason, reasons.OfReady)
	case hasReason(ready, v1alpha1.ReasonServerWentBack):
		j.add(KindClass, of, Fails, "had confirmed serial %d, and a server went back to an earlier one", s.Serial).
			explain(ready.Reason, reasons.OfReady)
	case has:
		j.add(KindClass, of, OK, "has confirmed serial %d", s.Serial)
	case delivered:
		j.add(KindClass, of, Unknown, "not in force: the zone is withdrawn from it, or it is new")
	case j.Zone.Classes[of] != nil && j.Zone.Classes[of].Spec.Paused:
		j.add(KindClass, of, Waits, "the class is paused; it has confirmed serial %d", s.Serial).
			explain(v1alpha1.ReasonClassPaused, reasons.OfReady)
	case len(s.Notify) > 0 && (s.Error == nil || s.Error.Reason == v1alpha1.ReasonZoneNotFound): // others explain it
		j.add(KindClass, of, Fails, "%s; confirmed is serial %d", s.Notify[0].Message, s.Serial).
			explain(class.ReasonOfNotify(&s.Notify[0]), reasons.OfReady).setStep(reasons.Platform, "%s", s.Notify[0].Remedy)
	case s.Error != nil:
		since := s.Error.Timestamp.UTC().Format("15:04:05Z on 2 January")
		j.add(KindClass, of, Fails, "%s, since %s; confirmed is serial %d", s.Error.Message, since, s.Serial).
			explain(s.Error.Reason, reasons.OfReady)
	default:
		j.add(KindClass, of, Waits, "has confirmed serial %d, not %d yet", s.Serial, want).explain(v1alpha1.ReasonPending, reasons.OfReady)
	}
}

// kindOf has the kind of link for a reason of Ready. Other reasons belong to a class.
var kindOf = map[string]Kind{
	v1alpha1.ReasonPaused: KindZone, v1alpha1.ReasonFrozen: KindZone, v1alpha1.ReasonNotDelegatedOrServable: KindZone,
	v1alpha1.ReasonTerminating: KindZone, v1alpha1.ReasonZoneTerminating: KindZone,
	v1alpha1.ReasonMassDeletion: KindSerial, v1alpha1.ReasonCascading: KindSerial,
	v1alpha1.ReasonNotAdopted: KindRule,
}

var stateOfReady = map[metav1.ConditionStatus]State{metav1.ConditionFalse: Fails, metav1.ConditionUnknown: Waits}

// placeReady puts the reason of Ready at its link, unless a link says more already.
func (j *judgement) placeReady() {
	ready := meta.FindStatusCondition(j.conditionsOf(), v1alpha1.ConditionReady)
	if !isUnmet(ready) {
		return
	}
	bad := firstBad(j.links)
	if bad != nil && (ready.Reason == v1alpha1.ReasonPending || bad.State == Fails || bad.Reason == v1alpha1.ReasonNotifyFailing ||
		bad.Reason == v1alpha1.ReasonTLSFailing) {
		return // the Delivery says more
	}
	l := j.linkOf(cmp.Or(kindOf[ready.Reason], KindClass))
	l.State, l.Text = stateOfReady[ready.Status], ready.Message
	l.explain(ready.Reason, reasons.OfReady)
}

// linkOf returns the first link of a kind to give a cause to, or a new link. A class that has the serial is no cause.
func (j *judgement) linkOf(kind Kind) *Link {
	at := slices.IndexFunc(j.links, func(l Link) bool { return l.Kind == kind && (kind != KindClass || l.State != OK) })
	if at < 0 {
		return j.add(kind, "", OK, "")
	}
	return &j.links[at]
}

// ofServers are the reasons whose cause is a server.
var ofServers = map[string]bool{v1alpha1.ReasonPending: true, v1alpha1.ReasonAwaitsClass: true, v1alpha1.ReasonServerWentBack: true}

// explainClasses adds to the links of bad classes the servers and faults that the Deliveries and DNSClasses name.
func (j *judgement) explainClasses() {
	for i := range j.links {
		if l := &j.links[i]; l.Kind == KindClass && l.State.IsBad() {
			j.nameServer(l)
			j.addFaultOfClass(l)
		}
	}
}

// nameServer names the server that delays a class, from its Delivery, because conditions, which tenants read, have no
// address. A delivery that has only begun is left out: its servers need a moment.
func (j *judgement) nameServer(l *Link) {
	isBegun := l.Reason == v1alpha1.ReasonPending && !j.waitsLong()
	of := slices.IndexFunc(j.Zone.Deliveries, func(d v1alpha1.Delivery) bool { return class.NameOf(d.Namespace, d.Spec.ClassRef) == l.Of })
	if isBegun || !ofServers[l.Reason] || of < 0 {
		return
	}
	d := &j.Zone.Deliveries[of]
	faults := class.ListServerFaults(d)
	if len(faults) == 0 {
		return
	}
	l.Text = fmt.Sprintf("%s; confirmed is serial %d", faults[0].Fault, d.Status.Serial)
	if step := faults[0].Step; step != "" {
		l.setStep(reasons.Platform, "%s", step)
	}
}

// addFaultOfClass adds the message of the DNSClass if it has the same fault: for example BADSIG, beside a Record that
// only says AuthenticationFailed.
func (j *judgement) addFaultOfClass(l *Link) {
	of := j.Zone.Classes[l.Of]
	if of == nil {
		return // hidden from the user
	}
	if ready := meta.FindStatusCondition(of.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Reason == l.Reason {
		l.Text += ": " + ready.Message
	}
}

// longAfter is the age at which a delivery without a confirmation is no longer only under way: Ready then has a cause.
const longAfter = time.Minute

// waitsLong reports whether the Record or zone has waited longer than a delivery takes.
func (j *judgement) waitsLong() bool {
	of := meta.FindStatusCondition(j.conditionsOf(), v1alpha1.ConditionReady)
	return isUnmet(of) && !of.LastTransitionTime.IsZero() && time.Since(of.LastTransitionTime.Time) > longAfter
}
