// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rule is a permission of the server at kube-apiserver.
type Rule struct {
	// Namespace is "" for the cluster, or InstallNamespace.
	Namespace string
	rbacv1.PolicyRule
	// Purpose is the effect of a missing permission.
	Purpose string
	// Certificate is true if a given certificate makes the rule unnecessary.
	Certificate bool
	// Peers is true if only several etcd members require the rule.
	Peers bool
	// Beside is the sub-command in the server's process that requires the rule, or "".
	Beside string
}

// InstallNamespace means the namespace of the server.
const InstallNamespace = "INSTALL"

// Rules returns the permissions that charts/kubizone grants.
func Rules() []Rule {
	read := []string{"get", "list", "watch"}
	policy := func(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
	}
	named := func(rule rbacv1.PolicyRule, names ...string) rbacv1.PolicyRule {
		rule.ResourceNames = names
		return rule
	}
	return []Rule{
		{PolicyRule: policy("authentication.k8s.io", []string{"create"}, "tokenreviews"), Purpose: "no token is accepted"},
		{PolicyRule: policy("authorization.k8s.io", []string{"create"}, "subjectaccessreviews"), Purpose: "only system:masters has any " +
			"permission"},
		{Namespace: metav1.NamespaceSystem, PolicyRule: named(policy("", read, "configmaps"), "extension-apiserver-authentication"),
			Purpose: "requests of kube-apiserver's aggregator are not authenticated"},
		{PolicyRule: policy("", read, "namespaces"), Purpose: "nothing can be created"},
		{PolicyRule: policy("admissionregistration.k8s.io", read,
			"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "mutatingadmissionpolicies",
			"mutatingadmissionpolicybindings",
			"validatingadmissionpolicies", "validatingadmissionpolicybindings"), Purpose: "every write is refused"},
		{PolicyRule: policy("", read, "resourcequotas"), Purpose: "every write is refused"},
		{PolicyRule: policy("", []string{"update"}, "resourcequotas/status"), Purpose: "nothing can be created in a namespace with a " +
			"quota of records or zones"},
		{PolicyRule: policy("flowcontrol.apiserver.k8s.io", read, "flowschemas", "prioritylevelconfigurations"),
			Purpose: "priority and fairness has no configuration"},
		{PolicyRule: policy("flowcontrol.apiserver.k8s.io", []string{"patch"}, "flowschemas/status"), Purpose: "the log fills up"},
		{PolicyRule: policy("events.k8s.io", []string{"create", "patch"}, "events"), Purpose: "no Event says which zones a mass deletion " +
			"holds back, or what the rules of a zone allow no more"},
		{PolicyRule: named(policy("apiregistration.k8s.io", []string{"get", "patch"}, "apiservices"),
			apiServices[:]...), Purpose: "caBundle is not written", Certificate: true},
		{Namespace: InstallNamespace, PolicyRule: named(policy("", []string{"get", "update"}, "secrets"), "kubizone-apiserver-serving"),
			Purpose: "there is no serving certificate", Certificate: true},
		{Namespace: InstallNamespace, PolicyRule: policy("", []string{"create"}, "secrets"), Purpose: "there is no serving certificate",
			Certificate: true},
		{Namespace: InstallNamespace, PolicyRule: named(policy("", []string{"get", "update"}, "secrets"), peerSecret),
			Purpose: "etcd members do not know each other", Peers: true},
		{Namespace: InstallNamespace, PolicyRule: policy("", []string{"create"}, "secrets"), Purpose: "etcd members do not know each other",
			Peers: true},
		{Namespace: InstallNamespace, PolicyRule: named(policy("", []string{"impersonate"}, "serviceaccounts"), "kubizone-controller"),
			Purpose: "no zone is delivered", Beside: "controller"},
		{Namespace: InstallNamespace, PolicyRule: named(policy("", []string{"impersonate"}, "serviceaccounts"), "kubizone-primary"),
			Purpose: "the primary reads no Secret of a class", Beside: "primary"},
	}
}
