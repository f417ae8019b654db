// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/alarm"
)

// automanaged labels an APIService that kube-apiserver keeps for a CustomResourceDefinition.
const automanaged = "kube-aggregator.kubernetes.io/automanaged"

// Clock differences for a WARN and a FAIL. TSIG allows five minutes (RFC 8945).
const (
	clockWarns = 10 * time.Second
	clockFails = 5 * time.Minute
)

// judgeInstallation checks whether the required APIServices exist and lead to the server. kubizone up has none.
func (f *facts) judgeInstallation(time.Time) Finding {
	const check = "installation"
	if f.standalone() {
		return ok(check, "kubizone up needs none")
	}
	if f.registrationsErr != nil {
		return notRead(check, "APIServices", f.registrationsErr)
	}
	for _, name := range requiredAPIs {
		if f.registration(name) == nil {
			return fail(check, "APIService "+name+" does not exist", f.installAgain())
		}
	}
	for _, registered := range f.registrations {
		name := registered.Name
		switch {
		case registered.Spec.Service == nil, registered.Labels[automanaged] != "":
			// kube-apiserver then answers from its own storage, and no request reaches Kubizone.
			return fail(check, "APIService "+name+" serves a CustomResourceDefinition of an older kubizone",
				"follow docs/migration.md: kubectl label apiservice "+name+" "+automanaged+"-, then "+f.installAgain())
		case registered.Spec.InsecureSkipTLSVerify:
			return fail(check, "APIService "+name+" has insecureSkipTLSVerify: any host at that address can act as the server",
				"set spec.insecureSkipTLSVerify of the APIService to false; the server writes caBundle")
		}
	}
	namespace, service, _ := f.serviceRef()
	return ok(check, fmt.Sprintf("%d APIServices at service %s/%s", len(f.registrations), namespace, service))
}

func (f *facts) installAgain() string {
	namespace, _, _ := f.serviceRef()
	for _, one := range f.registrations {
		if release := one.Annotations[releaseAnnotation]; release != "" {
			return fmt.Sprintf("helm rollback %s REVISION -n %s, with the revision of helm list -n %[2]s: it restores deleted objects",
				release, namespace)
		}
	}
	return "kubectl apply -k, or helm install kubizone CHART -n " + namespace + " --create-namespace (docs/install.md)"
}

// judgeClocks compares the clocks of all servers with kube-apiserver's, and kube-apiserver's with this machine's.
// Certificates issued by a server with a fast clock are not valid yet for kube-apiserver.
func (f *facts) judgeClocks(now time.Time) Finding {
	const check = "clocks"
	if len(f.clockSkews) == 0 {
		return warn(check, "no answer has a date", "see servers")
	}
	offsets := map[string]time.Duration{}
	// Answers give the difference from this machine. The reference is zero if kube-apiserver sent no date.
	reference := f.clockSkews[kubeAPIServer]
	for from, ahead := range f.clockSkews {
		offsets[from] = ahead - reference
	}
	worst := slices.MaxFunc(slices.Sorted(maps.Keys(offsets)), func(a, b string) int {
		return cmp.Compare(offsets[a].Abs(), offsets[b].Abs())
	})
	side := "ahead of"
	if offsets[worst] < 0 {
		side = "behind"
	}
	message := fmt.Sprintf("the clock of %s is %s %s kube-apiserver's (%s)", worst, offsets[worst].Abs(), side,
		now.UTC().Format(time.RFC3339))
	const next = "set the clock of its node: timedatectl and chronyc tracking show it there"
	switch {
	case offsets[worst].Abs() > clockFails:
		return fail(check, message+": certificates are not valid yet or any more, and name servers refuse TSIG", next)
	case offsets[worst].Abs() > clockWarns:
		return warn(check, message, next)
	case reference.Abs() > clockWarns:
		// The installation works. Only ages on this machine are wrong.
		return warn(check, fmt.Sprintf("the clock of this machine and kube-apiserver's are %s apart", reference.Abs()),
			"set the wrong clock: this machine shows other ages than the servers")
	}
	return ok(check, fmt.Sprintf("%d, none more than %s off", len(offsets), max(offsets[worst].Abs(), reference.Abs(), time.Second)))
}

const formatCheck = "format"

func isOfEtcd(check string) bool { return strings.HasPrefix(check, "etcd") || check == formatCheck }

// listFailing returns the servers with failed checks, those of etcd or all others, and the names of the checks. passed
// counts the answering servers without a failure among the selected checks.
func (f *facts) listFailing(ofEtcd bool) (texts, names []string, passed int) {
	for _, a := range f.answers {
		failed := slices.DeleteFunc(slices.Clone(a.failedChecks), func(name string) bool { return isOfEtcd(name) != ofEtcd })
		switch {
		case len(failed) > 0:
			texts = append(texts, a.from+": "+strings.Join(failed, ", "))
			names = append(names, failed...)
		case a.err == nil:
			passed++
		}
	}
	return texts, names, passed
}

// nearQuota is the used part as in the alert KubizoneEtcdNearQuota.
const nearQuota = 0.7

// judgeEtcd judges etcd by the servers' checks and, with the right to read the Installation, by alarms, members and
// quota. The worst case comes first.
func (f *facts) judgeEtcd(time.Time) Finding {
	const check = "etcd"
	texts, names, passed := f.listFailing(true)
	members, errs, used := 0, []string{}, 0.0

	// The Installation has alarms and members as a working server sees them. Without a working server, the failed
	// checks decide.
	if i := f.overview.Installation; i != nil && i.Etcd != nil {
		names = append(names, i.Etcd.Alarms...)
		for _, m := range i.Etcd.Members {
			if members++; m.Error != "" {
				errs = append(errs, m.Endpoint+": "+m.Error)
			} else if m.QuotaBytes > 0 {
				used = max(used, float64(m.InUseBytes)/float64(m.QuotaBytes))
			}
		}
	}
	has := func(all ...string) bool {
		return slices.ContainsFunc(all, func(name string) bool { return slices.Contains(names, name) })
	}
	const look = "check the members, disks and certificates of etcd, and the log of the servers (docs/operations.md, etcd does not answer)"
	switch {
	case has(alarm.Corrupt, "CORRUPT"):
		return fail(check, "alarm CORRUPT: the members hold different data, and etcd answers nothing",
			"find the member that differs in the log of the servers, and replace it (docs/operations.md, CORRUPT)")
	case has(alarm.Space, "NOSPACE"):
		return fail(check, "alarm NOSPACE: etcd is full and refuses writes", "wait a minute, as the servers free space; then "+
			"raise the quota (docs/operations.md, NOSPACE)")
	case has(formatCheck) && passed == 0:
		return fail(check, "the servers do not read the format of the store", "let the version that wrote the store replace the "+
			"servers (kubectl rollout status), or restore a backup of the servers' version")
	case len(texts) > 0 && passed == 0:
		return fail(check, "etcd does not answer, or has no quorum: "+strings.Join(texts, "; "), look)
	// Half of the members is no quorum: of two, both are needed.
	case members > 0 && 2*len(errs) >= members:
		return fail(check, fmt.Sprintf("%d of %d members do not answer: %s", len(errs), members, strings.Join(errs, "; ")), look)
	case len(errs) > 0:
		return warn(check, fmt.Sprintf("%d of %d members do not answer: %s", len(errs), members, strings.Join(errs, "; ")),
			"repair the member, or replace it (docs/operations.md, Lost member)")
	case len(texts) > 0:
		return warn(check, "only some servers reach etcd; without it: "+strings.Join(texts, "; "), "run this again in a minute; then "+look)
	case used > nearQuota:
		return warn(check, fmt.Sprintf("%.0f %% of the quota are in use", used*100), "see docs/operations.md, KubizoneEtcdNearQuota")
	case members > 0:
		return ok(check, fmt.Sprintf("%d of %[1]d members answer", members))
	case passed > 0:
		return ok(check, "etcd answers")
	}
	return warn(check, "unknown, since no server answers", "see servers")
}

// firstLack returns the missing RBAC rule of a server that is not ready, or that kube-apiserver does not answer the
// server; or "".
func (f *facts) firstLack() string {
	for _, a := range f.answers {
		if a.lacks != "" {
			return a.lacks
		}
	}
	return ""
}

// A server that starts or stops while another serves is a WARN.
func (f *facts) judgeServers(time.Time) Finding {
	const check = "servers"
	texts, _, passed := f.listFailing(false)
	namespace, _, _ := f.serviceRef()
	look := fmt.Sprintf("kubectl logs -n %s -l app.kubernetes.io/name=%s has the reason, such as a missing RBAC rule; "+
		"after an upgrade, apply its manifests", namespace, serverName)
	pods := "kubectl get statefulsets,deployments,pods -n " + namespace + ", then kubectl describe: an image, a quota or a probe"
	var silent []string
	for _, a := range f.answers {
		if a.err != nil && len(a.failedChecks) == 0 {
			silent = append(silent, a.from+": "+a.err.Error())
		}
	}
	i := f.overview.Installation
	switch {
	case i != nil && len(i.MissingPermissions) > 0:
		// Before the failing checks, because a missing rule is their cause.
		return fail(check, i.MissingPermissions[0], "apply the RBAC rules of this version: "+f.installAgain())
	case passed == 0 && f.firstLack() != "":
		lack := f.firstLack()
		if !strings.Contains(lack, "RBAC rule") { // or kube-apiserver does not answer the server
			return fail(check, lack, "let the server reach kube-apiserver through NetworkPolicies and firewalls; "+look)
		}
		return fail(check, lack, "apply the RBAC rules of this version: "+f.installAgain())
	case f.standalone():
		// There are no pods to look at, and no RBAC rules to lack.
		return ok(check, "kubizone up answers")
	case len(texts) > 0 && passed > 0:
		return warn(check, fmt.Sprintf("%d pass every check, others fail: %s", passed, strings.Join(texts, "; ")),
			"run this again in a minute; then "+look)
	case len(texts) > 0:
		return fail(check, "failing checks: "+strings.Join(texts, "; "), look)
	case passed > 0 && len(silent) > 0:
		return warn(check, fmt.Sprintf("%d pass every check, others do not answer: %s", passed, strings.Join(silent, "; ")), pods)
	case passed > 0:
		return ok(check, fmt.Sprintf("%d pass every check", passed))
	case i != nil:
		// A user without the right to reach pods, from a machine without a route to them.
		return ok(check, "they answer kube-apiserver, though not this machine")
	case f.podsErr != nil:
		// Without the list, no pod is known to be missing.
		return notRead(check, "pods in namespace "+namespace, f.podsErr)
	case len(silent) == 0:
		return fail(check, "there is no pod of "+serverName+" in namespace "+namespace, pods)
	}
	return warn(check, "no server answers: "+strings.Join(silent, "; "), pods+"; a user who may get pods/proxy learns more")
}

// judgeAvailability checks that kube-apiserver reaches the API. The cause is an earlier finding that explains a
// failure, or nil.
func (f *facts) judgeAvailability(cause *Finding) Finding {
	const check = "apiservices"
	var unavailable []string
	reason, next := "", ""
	for _, registered := range f.registrations {
		for _, condition := range registered.Status.Conditions {
			if condition.Type != apiregistrationv1.Available || condition.Status == apiregistrationv1.ConditionTrue {
				continue
			}
			unavailable = append(unavailable, registered.Name)
			if reason == "" { // of the first
				reason = string(condition.Reason) + ": " + condition.Message
				next = mendRegistration(registered.Name, reason, cause)
			}
		}
	}
	switch {
	case len(unavailable) > 0:
		return fail(check, fmt.Sprintf("kube-apiserver does not reach %s: %s", strings.Join(unavailable, ", "), reason), next)
	case len(f.registrations) == 0:
		return Finding{} // judgeInstallation reports this
	}
	return ok(check, fmt.Sprintf("%d are available", len(f.registrations)))
}

// mendRegistration returns the next step for an unavailable APIService: without the optional API, to the cause in an
// earlier finding, to the certificates, or to the network.
func mendRegistration(name, reason string, cause *Finding) string {
	switch {
	case !slices.Contains(requiredAPIs, name):
		return "the servers may run without its flag, such as --acme: repeat the upgrade that adds it, or kubectl delete apiservice " + name
	case cause != nil:
		return "mend " + cause.Check + " first, which explains it"
	case strings.Contains(reason, "x509") || strings.Contains(reason, "tls: "):
		return "the certificate or caBundle is wrong: run this as a user who may read APIServices and Secrets, and follow trust"
	}
	return "no other check explains it: a firewall or NetworkPolicy may stand between control plane and pods. Open TCP 10250, or " +
		"set another apiserver.securePort of the chart"
}

// judgeProcesses judges the processes beside the server by their Leases, in the Installation. Without the right to read
// the Installation, the finding is empty.
func (f *facts) judgeProcesses(now time.Time) Finding {
	const check = "processes"
	i := f.overview.Installation
	if i == nil {
		return Finding{} // see rights, or the cause
	}
	var works, ended []string
	for n := range i.Processes {
		if one := &i.Processes[n]; one.Ended {
			ended = append(ended, fmt.Sprintf("%s since %s (%s)", one.Name, describeAge(now, one.Renewed), effects[one.Name]))
		} else if !slices.Contains(works, one.Name) {
			works = append(works, one.Name)
		}
	}
	for _, u := range i.Unknown {
		if u.Part == v1alpha1.InstallationProcesses && len(ended) == 0 {
			// The Leases could not be read, so a missing Lease proves nothing.
			fault, next := splitNext(u.Reason)
			return warn(check, fault, next)
		}
	}
	missing := func(name string) string { return "no " + name + " has a Lease: " + effects[name] }
	start := func(name string) string {
		namespace, _, _ := f.serviceRef()
		return fmt.Sprintf("kubectl get deployments,statefulsets,pods -n %s: scale the %s up from 0, or see kubectl describe and "+
			"kubectl logs of its pod", namespace, name)
	}
	switch {
	case len(ended) > 0:
		name, _, _ := strings.Cut(ended[0], " ")
		return fail(check, "no replica works: "+strings.Join(ended, ", "), start(name))
	case !slices.Contains(works, processController) && f.waitsForProcess():
		// A zone waits for delivery, and no controller is there to deliver it.
		return fail(check, missing(processController), start(processController))
	case !slices.Contains(works, processController):
		// All zones are current, so the controller may run elsewhere.
		return warn(check, missing(processController)+", unless it runs outside of the cluster", start(processController))
	case len(f.instances) > 0 && !slices.Contains(works, processFleet):
		return warn(check, missing(processFleet), start(processFleet))
	}
	return ok(check, strings.Join(works, ", "))
}
