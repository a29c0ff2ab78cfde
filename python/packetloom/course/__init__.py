"""Checkers for the exercises of the course (`docs/course`): each says whether an answer is right, or gives a hint."""
