// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/client/overview"
)

const (
	processController = "controller"
	processFleet      = "fleet"
)

var effects = map[string]string{
	processController: "changes are stored and not delivered",
	"primary":         "name servers transfer no zone",
	processFleet:      "BIND servers are not kept",
	"external-dns":    "names of external-dns are not written",
}

// lateAfter is the age as in the alert KubizoneDeliveryLate.
const lateAfter = 5 * time.Minute

func describeAge(now time.Time, since *metav1.Time) string {
	if since.IsZero() {
		return "an unknown time"
	}
	return duration.HumanDuration(max(0, now.Sub(since.Time)))
}

func (f *facts) waitsForProcess() bool {
	return slices.ContainsFunc(f.overview.NotCurrent, func(one overview.Item) bool {
		return one.Reason == v1alpha1.ReasonPending || one.Reason == v1alpha1.ReasonAwaitsClass
	})
}

// judgeNameServers checks only the fleet, though a zone may have other servers.
func (f *facts) judgeNameServers(time.Time) Finding {
	const check = "bind9"
	if f.instancesErr != nil && !apierrors.IsNotFound(f.instancesErr) && f.overview.ZonesRead {
		return notRead(check, "bind9instances.bind9.kubi.zone", f.instancesErr)
	}
	var bad []string
	fault, next := "", ""
	for i := range f.instances {
		one := &f.instances[i]
		of := meta.FindStatusCondition(one.Status.Conditions, bind9.ConditionReady)
		if of == nil || of.Status == metav1.ConditionTrue {
			// A Ready instance may still be Degraded, which is a fault too.
			of = meta.FindStatusCondition(one.Status.Conditions, bind9.ConditionDegraded)
		}
		if of == nil || (of.Status == metav1.ConditionTrue) == (of.Type == bind9.ConditionReady) {
			continue
		}
		if bad = append(bad, one.Namespace+"/"+one.Name); fault == "" {
			fault = of.Reason + ": " + of.Message
			next = fmt.Sprintf("kubectl describe bind9instance %s -n %s, then its pod", one.Name, one.Namespace)
		}
	}
	switch {
	case len(bad) > 0:
		return fail(check, fmt.Sprintf("%d of %d are not ready (%s): %s", len(bad), len(f.instances), shortenList(bad), fault), next)
	case len(f.instances) == 0:
		return Finding{}
	}
	return ok(check, fmt.Sprintf("%d of %[1]d are ready", len(f.instances)))
}

// ofTheirOwners are reasons that a zone's owners and tenants can end. They do not explain why other zones wait.
var ofTheirOwners = []string{v1alpha1.ReasonTerminating, v1alpha1.ReasonNotDelegatedOrServable, v1alpha1.ReasonMassDeletion}

// judgeZones returns a FAIL for each reason why zones are not current, the most frequent first and those of owners
// last, or a single finding. now is kube-apiserver's time.
func (f *facts) judgeZones(now time.Time) (findings []Finding) {
	const check = "zones"
	o := f.overview
	switch late := o.OldestUnconfirmed; {
	case !o.ZonesRead:
		return []Finding{f.judgeUnreadZones(check)}
	case len(o.NotCurrent) > 0:
	case late != nil && late.Since != nil && now.Sub(late.Since.Time) > lateAfter:
		// Zones are current at their settled serial, but a change waits longer for its confirmation than the alert
		// allows.
		return []Finding{warn(check, fmt.Sprintf("all %d are current, but %s is unconfirmed for %s: %s", o.Zones, late,
			describeAge(now, late.Since), cmp.Or(late.Message, late.Reason)), "kubectl kubizone why has the reason")}
	default:
		return []Finding{ok(check, fmt.Sprintf("all %d are current", o.Zones))}
	}
	byReason := map[string][]*overview.Item{}
	for i := range o.NotCurrent {
		byReason[o.NotCurrent[i].Reason] = append(byReason[o.NotCurrent[i].Reason], &o.NotCurrent[i])
	}
	rank := func(reason string) int {
		// A single broken server delays many zones, while an owner's held zone explains no other. The owner's reasons
		// come last.
		if slices.Contains(ofTheirOwners, reason) {
			return 0
		}
		return len(byReason[reason])
	}
	for _, reason := range slices.SortedFunc(maps.Keys(byReason), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(a, b))
	}) {
		// The first of a reason has waited longest, and its object is an example for the next step.
		oldest := byReason[reason][0]
		fault, next := describeItem(oldest)
		findings = append(findings, fail(check, fmt.Sprintf("%d of %d are not current, %s: %s for %s: %s", len(byReason[reason]), o.Zones,
			reason, oldest, describeAge(now, oldest.Since), fault),
			fmt.Sprintf("%skubectl kubizone why -n %s zone/%s names class and server", next, oldest.Namespace, oldest.Name)))
	}
	return findings
}

const findServer = "the platform " + class.StepFindServer

// describeItem returns the fault of a zone, with those of its servers, and the next step, "" or with "; " at the end. A
// condition sends its reader to this command for the servers, so that step gives way to the server's own.
func describeItem(one *overview.Item) (fault, next string) {
	fault, next = splitNext(one.Message)
	var faults []string
	for _, server := range one.Servers {
		faults = append(faults, server.Fault)
		if next == findServer || next == "" {
			next = server.Step
		}
	}
	if len(faults) > 0 {
		fault += ": " + shortenList(faults)
	}
	if next == findServer { // no Delivery was read
		next = "run this as a user who may list deliveries, which name the server"
	}
	if next != "" {
		next += "; "
	}
	return fault, next
}

func (f *facts) judgeUnreadZones(check string) Finding {
	for _, one := range f.overview.Unread {
		if one.Resource != "zones.kubi.zone" {
			continue
		}
		// A stored object cannot be decoded, and a list fails as a whole.
		if of := apierrors.APIStatus(nil); errors.As(one.Err, &of) && of.Status().Code == http.StatusInternalServerError {
			return fail(check, "zones cannot be listed: "+one.Reason, "kubizone fsck names the object (docs/operations.md, Damage)")
		}
		return notRead(check, one.Resource, one.Err)
	}
	return warn(check, "not read", "run this again")
}

// kube-controller-manager empties a namespace before its end, so such objects come from a backup or a forced
// finalization.
func (f *facts) judgeNamespaces(time.Time) Finding {
	if kept := f.overview.Terminating; len(kept) > 0 {
		var names []string
		for i := range kept {
			names = append(names, kept[i].Name)
		}
		fault, next := splitNext(kept[0].Message)
		return warn("namespaces", fmt.Sprintf("%d stay Terminating: %s: %s", len(kept), shortenList(names), fault), next)
	}
	i := f.overview.Installation
	if i == nil || len(i.NamespacesGone) == 0 {
		return Finding{}
	}
	return warn("namespaces", "deleted, with Zones, Delegations or Records that are still served: "+shortenList(i.NamespacesGone),
		"create the namespace again, or delete its objects: kubectl delete records,delegations,zones --all -n NAMESPACE")
}

func (f *facts) judgeRights(time.Time) Finding {
	if !f.overview.ZonesRead {
		return Finding{} // see zones
	}
	var all []string
	reason := ""
	for _, one := range f.overview.Unread {
		all, reason = append(all, one.Resource), one.Reason
	}
	if len(all) == 0 {
		return Finding{}
	}
	return warn("rights", "not read: "+shortenList(all)+": "+reason, "run this as a user with the ClusterRole kubizone-operator")
}

func shortenList(all []string) string {
	if len(all) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:3], ", "), len(all)-3)
	}
	return strings.Join(all, ", ")
}

// splitNext separates a fault from its next step. Messages of conditions have a semicolon only there.
func splitNext(message string) (fault, next string) {
	fault, next, _ = strings.Cut(message, "; ")
	return fault, next
}
