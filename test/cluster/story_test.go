// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// TestStories runs testdata/*.txtar as a tenant. Beside testscript's commands, stories have until, within, admin and
// serial; the conditions are [tools] (fluxapply and argosync are built) and [mutates] (kube-apiserver serves
// MutatingAdmissionPolicies). These variables are also expanded in the files of a story:
//
//	NS, OTHER        the story's namespace, and another tenant's
//	DOMAIN           an absolute domain of the story; in NS the tenant may establish the zone
//	USER             the story's user
//	GITOPS           the directory artifacts/gitops
//	KUBECONFIG       the user's kubeconfig; ADMIN is the administrator's, THEM that of the tenant of OTHER
func TestStories(t *testing.T) {
	c := requireCluster(t)
	programs := map[string]string{"kubectl-kubizone": c.client, "kubectl": c.kubectl, "helm": rig.Need(rig.Tool("helm"))(t),
		"argohealth": rig.Need(rig.GitOpsProgram("gitops", "argohealth"))(t)}
	tools := true
	for program, module := range map[string]string{"fluxapply": "flux", "argosync": "argo"} {
		path, err := rig.GitOpsProgram(module, program)
		switch {
		case err == nil:
			programs[program] = path
		case rig.Skips(err):
			tools = false
		default:
			t.Fatal(err)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir:                "testdata",
		RequireUniqueNames: true,
		UpdateScripts:      os.Getenv("UPDATE_STORIES") != "",
		Condition: func(condition string) (bool, error) {
			switch condition {
			case "tools":
				return tools, nil
			case "mutates":
				return c.servesResource("mutatingadmissionpolicies")
			}
			return false, fmt.Errorf("a story is with tools, or where kube-apiserver mutates, not %q", condition)
		},
		Setup: func(env *testscript.Env) error { return c.prepareStory(t.Context(), env, programs) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"until": rig.RunUntil(waitTimeout), "within": rig.RunWithin, "admin": runAsAdmin, "serial": readSerial,
		},
	})
}

func (c *cluster) servesResource(resource string) (bool, error) {
	clients, err := c.kube.Clients()
	if err != nil {
		return false, err
	}
	served, err := clients.Discovery().ServerResourcesForGroupVersion("admissionregistration.k8s.io/v1")
	return err == nil && slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == resource }), err
}

// makeTenant returns the kubeconfig of an owner who may establish the domain.
func (c *cluster) makeTenant(ctx context.Context, namespace, user, domain string) (kubeconfig string, err error) {
	if err := c.kube.Namespace(ctx, namespace); err != nil {
		return "", err
	}
	if kubeconfig, err = c.kube.Tenant(user, "tenants"); err != nil {
		return "", err
	}
	if err := c.kube.Bind(ctx, namespace, user, "kubizone-zone-admin"); err != nil {
		return "", err
	}
	if err := c.kube.Grant(ctx, namespace, user, rbacv1.PolicyRule{
		APIGroups: []string{"kubi.zone"}, Resources: []string{"zones/establish"}, Verbs: []string{"create"}, ResourceNames: []string{strings.TrimSuffix(domain, ".")},
	}); err != nil {
		return "", err
	}
	return kubeconfig, c.waitAllowed(ctx, kubeconfig, namespace, domain)
}

// The authorizer follows informers, and this right was granted last.
func (c *cluster) waitAllowed(ctx context.Context, kubeconfig, namespace, domain string) error {
	config, err := kuberig.ClientConfig(kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	for {
		review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: "create", Group: "kubi.zone", Resource: "zones", Subresource: "establish", Name: strings.TrimSuffix(domain, "."),
			}},
		}, metav1.CreateOptions{})
		if err == nil && review.Status.Allowed {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s may not establish %s in %s: %w", kubeconfig, domain, namespace, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (c *cluster) prepareStory(ctx context.Context, env *testscript.Env, programs map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	name := "story-" + strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
	other := name + "-other"
	domain := name + ".example."
	mine, err := c.makeTenant(ctx, name, name+"-user", domain)
	if err != nil {
		return err
	}
	them, err := c.makeTenant(ctx, other, other+"-user", "other."+domain)
	if err != nil {
		return err
	}
	bin := filepath.Join(env.WorkDir, ".bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	for name, path := range programs {
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	gitops, err := filepath.Abs("../../artifacts/gitops")
	if err != nil {
		return err
	}
	variables := map[string]string{
		"NS": name, "OTHER": other, "DOMAIN": domain, "USER": name + "-user",
		"GITOPS": gitops, "KUBECONFIG": mine, "ADMIN": c.kube.AdminKubeconfig(), "THEM": them,
	}
	for name, value := range variables {
		env.Setenv(name, value)
	}
	env.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("TZ", "UTC")
	env.Setenv("GOGC", os.Getenv("GOGC"))
	return fillFiles(env.WorkDir, variables)
}

func fillFiles(dir string, variables map[string]string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		filled := os.Expand(string(content), func(name string) string {
			if value, ok := variables[name]; ok {
				return value
			}
			return "$" + name
		})
		return os.WriteFile(path, []byte(filled), 0o600)
	})
}

// runAsAdmin ARG... is kubectl as the administrator.
func runAsAdmin(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec("kubectl", append([]string{"--kubeconfig", ts.Getenv("ADMIN")}, args...)...)
	if (err != nil) != neg {
		ts.Fatalf("admin %s: %v", strings.Join(args, " "), err)
	}
}

func readSerial(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: serial NAME NAMESPACE/ZONE")
	}
	namespace, zone, _ := strings.Cut(args[1], "/")
	cmd := exec.Command("env", "kubectl", "get", "zone", "-n", namespace, zone, "-o", "jsonpath={.status.serial}")
	cmd.Dir, cmd.Env = ts.MkAbs("."), rig.StoryEnvironment(ts)
	out, err := cmd.Output()
	ts.Check(err)
	ts.Setenv(args[0], string(out))
}
