// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// omissions are changes that remove a rule from package law: in file, instead replaces text, and leaves out the rule if
// OMITTED is true. The twin must then fail.
var omissions = []struct{ rule, file, text, instead string }{
	{"S4.8 below", "claims/claim.go", "\tif refusal := c.refuseBelow(base, c.describeOthersBelow); refusal != nil {\n",
		"\tif refusal := c.refuseBelow(base, c.describeOthersBelow); refusal != nil && !OMITTED {\n"},
	{"S4.8 above", "claims/claim.go", "\t\t\treturn up, true\n", "\t\t\treturn up, !OMITTED\n"},
	{"S4.8 at", "claims/claim.go", "\tif !c.isOthersAt(n) {\n", "\tif !c.isOthersAt(n) || OMITTED {\n"},
	{"S4.15", "claims/claim.go", "func (c *Claimant) CutsOff(owner name.Rel, literal bool) bool {\n",
		"if OMITTED {\nreturn false\n}\n"},
	{"S4.7", "rules/base.go", "func Base(owner name.Rel) name.Rel {\n", "if OMITTED {\nreturn owner\n}\n"},

	{"S4.20", "claims/bar.go", "func (c *Claimant) findReservedBar(base name.Rel, found []rules.ReservedAbove) Bar {\n",
		"if OMITTED {\nreturn Bar{}\n}\n"},
	{"S4.9", "claims/bar.go",
		"func (c *Claimant) findOwnAbove(base name.Rel, found []rules.ReservedAbove) (at name.Rel, ok bool) {\n",
		"if OMITTED {\nreturn at, false\n}\n"},
	{"S4.10", "claims/bar.go", "func (c *Claimant) isService(n name.Rel) bool {\n", "if OMITTED {\nreturn false\n}\n"},
	{"S4.14", "claims/claim.go", "func (c *Claimant) RefuseOwnData(owner name.Rel) *law.Refusal {\n",
		"if OMITTED {\nreturn nil\n}\n"},
	{"S2.14", "records/waiting.go",
		"func (d *delta) isAwaited() bool {\n", "if OMITTED {\nreturn false\n}\n"},
	{"S4.23", "claims/guest.go", "func (c *Claimant) RefuseHiding(subject string, owner name.Rel) *law.Refusal {\n",
		"if OMITTED {\nreturn nil\n}\n"},
	{"S4.24 one type", "claims/guest.go",
		"func (c *Claimant) RefuseExcluding(subject string, owner name.Rel, neededRule string) *law.Refusal {\n",
		"if OMITTED {\nreturn nil\n}\n"},
	{"S4.24 half", "records/guest.go",
		"func (d *delta) refuseFull(after, before *law.Owner) *law.Refusal {\n", "if OMITTED {\nreturn nil\n}\n"},
	{"S4.25", "records/guest.go", "func (d *delta) noticeHiddenNames(plan *law.Plan) {\n", "if OMITTED {\nreturn\n}\n"},
	{"S2.10", "records/delta.go",
		"func (d *delta) affectsBelow(base name.Rel) bool {\n", "if OMITTED {\nreturn true\n}\n"},
	{"S3.10", "records/admission.go", "func (d *delta) signsAnother() bool {\n", "if OMITTED {\nreturn false\n}\n"},
	{"S4.18", "records/dot.go", "func (d *delta) warnsOfHolder(t target) bool {\n", "if OMITTED {\nreturn false\n}\n"},
	{"S4.26", "records/pointer.go", "func (d *delta) noticeTakenHosts() {\n", "if OMITTED {\nreturn\n}\n"},
}

// A single build of package law contains all omissions. Each omission, when selected, must make its twin fail.
func TestOmissions_areNoticed(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"rules/omitted.go": "package rules\n\nimport \"os\"\n\n" +
		"func Omits(rule string) bool { return os.Getenv(\"OMITTED_RULE\") == rule }\n"}
	for _, x := range omissions {
		if files[x.file] == "" {
			files[x.file] = string(must.Get(os.ReadFile(x.file))(t))
		}
		if strings.Count(files[x.file], x.text) != 1 {
			t.Fatalf("%s has not once: %s", x.file, x.text)
		}
		omits := "rules.Omits"
		if strings.HasPrefix(x.file, "rules/") {
			omits = "Omits"
		}
		instead := strings.ReplaceAll(x.instead, "OMITTED", omits+`("`+x.rule+`")`)
		if strings.HasPrefix(x.text, "func ") {
			instead = x.text + instead
		}
		files[x.file] = strings.Replace(files[x.file], x.text, instead, 1)
	}
	replace := map[string]string{}
	for file, text := range files {
		changed := filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		must.Succeed(t, os.WriteFile(changed, []byte(text), 0o600))
		replace[must.Get(filepath.Abs(file))(t)] = changed
	}
	overlay, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "law.test")
	must.Succeed(t, os.WriteFile(overlay, must.Get(json.Marshal(map[string]any{"Replace": replace}))(t), 0o600))
	if out, err := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(t *testing.T, rule string) (out string, err error) {
		c := exec.CommandContext(t.Context(), program, "-test.run", "^TestStrangers_holesStayClosed$")
		c.Env = append(os.Environ(), "OMITTED_RULE="+rule)
		text, err := c.CombinedOutput()
		return string(text), err
	}
	if out, err := run(t, ""); err != nil {
		t.Errorf("a stranger is heard, and no rule is left out: %v\n%s", err, out)
	}
	for _, x := range omissions {
		t.Run(x.rule, func(t *testing.T) {
			t.Parallel()
			if out, err := run(t, x.rule); err == nil || !strings.Contains(out, "--- FAIL: TestStrangers_holesStayClosed") {
				t.Errorf("without %s nothing is heard: %v\n%s", x.rule, err, out)
			}
		})
	}
}
