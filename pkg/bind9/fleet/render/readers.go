// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	rbacac "k8s.io/client-go/applyconfigurations/rbac/v1"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
)

// Resources by which KeyReaders and AgentReaders read one Secret each.
var (
	Roles        = rbacv1.SchemeGroupVersion.WithResource("roles")
	RoleBindings = rbacv1.SchemeGroupVersion.WithResource("rolebindings")
)

// transferReaders are the right of the platform's KeyReaders to read the TSIG key of a group.
func transferReaders(namespace string, owner Owner, platform *Platform) []Object {
	return renderReaders(namespace, TransferSecretName(owner.Name), owner.labels(platform), owner.annotations(), platform.KeyReaders)
}

// agentReaders are the right of the platform's AgentReaders to read the token of a signer's agent. Which other agents
// the controller asks is said by the classes that name their servers.
func (s *Server) agentReaders() []Object {
	if s.Role != bind9.RoleSigner {
		return nil
	}
	return renderReaders(s.Namespace, AgentSecretName(s.Name), s.labels(), s.owner(), s.Platform.AgentReaders)
}

// renderReaders are the Role to read one Secret, and no other, and its RoleBinding to readers. Their maker has the
// right itself, or the kube-apiserver refuses both.
func renderReaders(namespace, secret string, labels, annotations map[string]string, readers []types.NamespacedName) []Object {
	if len(readers) == 0 {
		return nil
	}
	role := rbacac.Role(secret, namespace).WithLabels(labels).WithAnnotations(annotations).
		WithRules(rbacac.PolicyRule().WithAPIGroups("").WithResources("secrets").WithResourceNames(secret).WithVerbs("get", "watch"))
	binding := rbacac.RoleBinding(secret, namespace).WithLabels(labels).WithAnnotations(annotations).
		WithRoleRef(rbacac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("Role").WithName(secret))
	for _, reader := range readers {
		binding = binding.WithSubjects(subjectOf(reader))
	}
	return []Object{{Roles, secret, role}, {RoleBindings, secret, binding}}
}

func subjectOf(account types.NamespacedName) *rbacac.SubjectApplyConfiguration {
	return rbacac.Subject().WithKind(rbacv1.ServiceAccountKind).WithNamespace(account.Namespace).WithName(account.Name)
}
