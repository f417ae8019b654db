// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	rbacac "k8s.io/client-go/applyconfigurations/rbac/v1"
)

// Resources by which KeyReaders read one Secret of a group.
var (
	Roles        = rbacv1.SchemeGroupVersion.WithResource("roles")
	RoleBindings = rbacv1.SchemeGroupVersion.WithResource("rolebindings")
)

// transferReaders are the Role to read the Secret of the TSIG key of a group, and no other, and its RoleBinding to the
// readers of the platform. Their maker has the right itself, or the kube-apiserver refuses both.
func transferReaders(namespace string, owner Owner, platform *Platform) []Object {
	if len(platform.KeyReaders) == 0 {
		return nil
	}
	name := TransferSecretName(owner.Name)
	role := rbacac.Role(name, namespace).WithLabels(owner.labels(platform)).WithAnnotations(owner.annotations()).
		WithRules(rbacac.PolicyRule().WithAPIGroups("").WithResources("secrets").WithResourceNames(name).WithVerbs("get", "watch"))
	binding := rbacac.RoleBinding(name, namespace).WithLabels(owner.labels(platform)).WithAnnotations(owner.annotations()).
		WithRoleRef(rbacac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("Role").WithName(name))
	for _, reader := range platform.KeyReaders {
		binding = binding.WithSubjects(subjectOf(reader))
	}
	return []Object{{Roles, name, role}, {RoleBindings, name, binding}}
}

func subjectOf(account types.NamespacedName) *rbacac.SubjectApplyConfiguration {
	return rbacac.Subject().WithKind(rbacv1.ServiceAccountKind).WithNamespace(account.Namespace).WithName(account.Name)
}
