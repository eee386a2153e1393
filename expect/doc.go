// Package expect holds recordings against what is expected of them: how often something comes, how long it takes, that
// nothing was lost. Expectations are a YAML file (Read), which is held against datasets (Judge); Propose makes a first
// one of a recording. What the files say are bounds for columns of package analyze's answers.
package expect
