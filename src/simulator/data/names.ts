/** Given and family names by language, for made-up people. Any likeness to a real person is an accident. */

/** The languages that titles and names come in. */
export const LANGUAGES = ['en', 'de', 'fr', 'es', 'pt'] as const
export type Language = (typeof LANGUAGES)[number]

interface Names {
  readonly feminine: readonly string[]
  readonly masculine: readonly string[]
  readonly family: readonly string[]
}

const words = (text: string): string[] => text.trim().split(/\s+/)

export const NAMES: Readonly<Record<Language, Names>> = {
  en: {
    feminine:
      words(`Olivia Emma Amelia Charlotte Grace Hannah Priya Mei Aisha Rachel Megan Lauren Naomi Zoe
      Harriet Nicole Danielle Fatima Kavya Ruth Alice Erin`),
    masculine:
      words(`James Oliver Liam Noah William Daniel Arjun Wei Omar Thomas Ryan Matthew Samuel Callum
      Ethan Marcus Kevin Ahmed Rohan George Patrick Dean`),
    family:
      words(`Smith Johnson Williams Brown Taylor Davies Wilson Evans Patel Khan Chen O'Connor Murphy Clarke
      Walker Wright Robinson Thompson Hughes Edwards Green Hall Wood Harris Lewis Martin Cooper Ward Turner Singh
      Nguyen Kim Baker Campbell Stewart Fraser`),
  },
  de: {
    feminine:
      words(`Anna Lena Julia Katharina Sabine Claudia Petra Heike Johanna Franziska Svenja Birgit Elif
      Jasmin Miriam Greta Lea Nadine`),
    masculine:
      words(`Lukas Maximilian Jonas Felix Stefan Andreas Jürgen Matthias Tobias Florian Uwe Björn Emre
      Sebastian Christoph Götz Niklas Holger`),
    family:
      words(`Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Schäfer Koch Bauer
      Richter Klein Wolf Schröder Neumann Schwarz Zimmermann Braun Krüger Hartmann Lange Yılmaz Öztürk Huber Gruber
      Brunner Keller`),
  },
  fr: {
    feminine:
      words(`Camille Léa Manon Chloé Marie Sophie Isabelle Élodie Aurélie Céline Nathalie Inès Yasmine
      Margaux Clémence Hélène`),
    masculine:
      words(`Lucas Hugo Louis Julien Nicolas Pierre François Mathieu Antoine Théo Karim Benoît Olivier
      Rémi Jérôme Étienne`),
    family:
      words(`Martin Bernard Dubois Thomas Robert Richard Petit Durand Leroy Moreau Simon Laurent Lefèvre
      Michel Garcia Roux Fontaine Chevalier Gauthier Benali Perrin Morel Girard Mercier Lambert Peeters Rousseau`),
  },
  es: {
    feminine:
      words(`Lucía María Sofía Carmen Paula Elena Marta Valentina Camila Ximena Isabel Pilar Rocío
      Guadalupe Inés Begoña`),
    masculine:
      words(`Alejandro Pablo Daniel Javier Carlos Diego Sergio Álvaro Juan Miguel Andrés Santiago
      Joaquín Íñigo Rubén Mateo`),
    family:
      words(`García Rodríguez González Fernández López Martínez Sánchez Pérez Gómez Martín Jiménez Ruiz
      Hernández Díaz Moreno Muñoz Álvarez Romero Navarro Torres Domínguez Vázquez Ramos Gil Ibáñez Ortega`),
  },
  pt: {
    feminine:
      words(`Ana Maria Juliana Fernanda Beatriz Larissa Camila Letícia Patrícia Mariana Inês Catarina
      Conceição Raquel Luíza Débora`),
    masculine:
      words(`João Pedro Lucas Gabriel Rafael Bruno Thiago Felipe Gustavo Tiago Rui André Márcio Luís
      Caio Vinícius`),
    family:
      words(`Silva Santos Oliveira Souza Pereira Costa Rodrigues Almeida Nascimento Lima Araújo Fernandes
      Carvalho Gomes Martins Rocha Ribeiro Alves Monteiro Mendes Barros Teixeira Magalhães Gonçalves Conceição`),
  },
}
