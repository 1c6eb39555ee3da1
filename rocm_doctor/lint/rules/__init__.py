"""Judgements on what a repository declares: functions of one environment and one target."""
